// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/step/detail/visit_shares.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The MFU of a step whose components or layers run in different precisions.

namespace floptally::inline v0_3 {

/// Sets the precision of a component, of some layers, or of a component in some layers.
struct precision_setting {
    std::string component{};  ///< name of a component; empty for all components
    /// Layers to which the setting applies, counted from 0. Empty: the whole model, including parts outside the layers.
    std::optional<index_range> layers{};
    double peak_tflops = 0;   ///< dense peak of one GPU in this precision, in TFLOP/s
    std::string precision{};  ///< name of the precision, for the log; may be empty
};

/// The FLOPs that run at one peak, that is, in one precision.
struct work_at_peak {
    breakdown work;
    double peak_tflops = 0;  ///< dense peak of one GPU, in TFLOP/s
};

/// The MFU of a step in several precisions, and the mean peak to which it refers.
struct mixed_precision_rate {
    double mfu = 0;  ///< Σ (time of useful FLOPs at the peak of their precision) ÷ time of the step
    /// The mean peak of one GPU in TFLOP/s, weighted by time: `mfu` is useful FLOPs ÷ (GPU-seconds x `peak_tflops`).
    double peak_tflops = 0;

    [[nodiscard]] friend bool operator==(const mixed_precision_rate&, const mixed_precision_rate&) = default;
};

/// Splits the FLOPs of a model by precision. If two settings apply to the same FLOPs, the later setting wins. FLOPs to
/// which no setting applies run at `peak_tflops`.
class mixed_precision {
  public:
    /// Makes the split from settings that apply to components in all layers (`precision_setting::layers` is empty).
    mixed_precision(const flop_counter& whole, std::vector<precision_setting> settings, double peak_tflops)
        : mixed_precision(whole, {}, {}, std::move(settings), peak_tflops) {}

    /// Makes the split from settings that may apply to some layers only. `whole` must count `parts` under `plan`.
    mixed_precision(const flop_counter& whole, std::span<const model_part> parts, const training_plan& plan,
                    std::vector<precision_setting> settings, double peak_tflops)
        : whole_(whole), settings_(std::move(settings)), peak_tflops_(peak_tflops) {
        detail::require_peak(peak_tflops, "peak_tflops");
        const breakdown names = whole.evaluate(tally{whole.masks()});
        const std::uint64_t layers = layers_of(parts);
        bool by_layer = false;
        for (const precision_setting& setting : settings_) {
            detail::require_peak(setting.peak_tflops, "peak_tflops");
            detail::require_utf8(setting.precision, "precision");
            if (!setting.component.empty()) {
                static_cast<void>(names[setting.component]);  // throws for an unknown component
            }
            if (setting.layers && (setting.layers->first >= setting.layers->last || setting.layers->last > layers)) {
                detail::refuse("layers", {"must be a range of the ", layers, " layers, got ", setting.layers->first,
                                          " to ", setting.layers->last});
            }
            by_layer = by_layer || setting.layers.has_value();
        }
        if (!by_layer) {
            groups_.push_back({{}, whole});
            return;
        }
        std::vector<std::vector<model_part>> all_parts;
        for (const std::vector<bool>& applied : setting_sets(parts)) {
            all_parts.push_back(only(parts, applied));
            groups_.push_back({applied, flop_counter(all_parts.back(), whole.counted_as(), plan)});
        }
        visits_ = detail::visit_shares(all_parts);
    }

    /// Returns the FLOPs of a batch for each peak, lowest peak first. Their sum is the model's FLOPs of the batch.
    [[nodiscard]] std::vector<work_at_peak> by_peak(const tally& batch) const {
        std::vector<work_at_peak> list;
        flops sum;
        for (std::size_t i = 0; i < groups_.size(); ++i) {
            const layer_group& group = groups_[i];
            const breakdown work = group.work.evaluate(visits_.share_of(batch, i));
            for (const component_flops& component : work.components()) {
                breakdown alone;
                alone.append(component.name) = component;
                alone.mark_upper_bound(work.is_upper_bound());
                work_at(peak_of(component.name.view(), group.applied), list) += alone;
                sum += component.total(view::useful);
            }
        }
        if (sum != whole_.total_flops(batch)) {
            detail::refuse("parts",
                           {"have ", to_string(sum), " FLOPs in all layers, but the model has ",
                            to_string(whole_.total_flops(batch)), ": pass the parts of the same model and plan"});
        }
        return list;
    }

    /// Returns the mixed-precision MFU of a batch that took `gpu_seconds`.
    [[nodiscard]] mixed_precision_rate rate(const tally& batch, double gpu_seconds) const {
        detail::require_finite_positive(gpu_seconds, "seconds");
        double needed = 0;
        flops sum;
        for (const work_at_peak& piece : by_peak(batch)) {
            const flops useful = piece.work.total(view::useful);
            needed += detail::divide(to_double(useful) / 1e12, piece.peak_tflops, "peak_tflops");
            sum += useful;
        }
        return {
            .mfu = detail::divide(needed, gpu_seconds, "seconds"),
            .peak_tflops = needed == 0 ? peak_tflops_ : detail::divide(to_double(sum) / 1e12, needed, "peak_tflops")};
    }

    [[nodiscard]] const flop_counter& whole() const { return whole_; }

  private:
    /// The layers to which the same settings apply, and a counter of their FLOPs. Work outside the layers (the
    /// embedding, the head) is in the group without settings.
    struct layer_group {
        /// For each setting: true if it applies to these layers. Empty if no setting has layers.
        std::vector<bool> applied;
        flop_counter work;
    };

    /// Returns the FLOPs in `list` that run at this peak. `list` is sorted by peak. If `list` has no element with this
    /// peak, inserts an element without FLOPs.
    [[nodiscard]] static breakdown& work_at(double peak, std::vector<work_at_peak>& list) {
        std::size_t place = 0;
        while (place < list.size() && list[place].peak_tflops < peak) {
            ++place;
        }
        if (place == list.size() || list[place].peak_tflops != peak) {
            list.push_back({{}, peak});
            for (std::size_t i = list.size() - 1; i > place; --i) {
                std::swap(list[i], list[i - 1]);
            }
        }
        return list[place].work;
    }

    [[nodiscard]] static bool is_layer(const model_part& part) {
        return part.role == part_role::layer && part.first_layer != no_layer;
    }

    [[nodiscard]] static std::uint64_t layers_of(std::span<const model_part> parts) {
        std::uint64_t end = 0;
        for (const model_part& part : parts) {
            const std::uint64_t last = is_layer(part) ? part.first_layer + part.repeat : 0;
            end = last > end ? last : end;
        }
        return end;
    }

    /// Returns a flag for each precision setting: true if the setting names layers and `layer` is one of them.
    [[nodiscard]] std::vector<bool> applied_to(std::uint64_t layer) const {
        std::vector<bool> applied;
        for (const precision_setting& setting : settings_) {
            applied.push_back(setting.layers && layer >= setting.layers->first && layer < setting.layers->last);
        }
        return applied;
    }

    /// Returns the distinct results of `applied_to` over all layers. The first result has only false: it is for the
    /// work outside the layers (the embedding, the head).
    [[nodiscard]] std::vector<std::vector<bool>> setting_sets(std::span<const model_part> parts) const {
        std::vector<std::vector<bool>> sets{std::vector<bool>(settings_.size(), false)};
        for (std::uint64_t layer = 0; layer < layers_of(parts); ++layer) {
            const std::vector<bool> applied = applied_to(layer);
            bool is_new = true;
            for (const std::vector<bool>& known : sets) {
                is_new = is_new && known != applied;
            }
            if (is_new) {
                sets.push_back(applied);
            }
        }
        return sets;
    }

    /// Returns all parts of the model. Marks parts with other settings than `applied` as `elsewhere`: the FLOPs of such
    /// parts are left out, but gradients still flow through them.
    [[nodiscard]] std::vector<model_part> only(std::span<const model_part> parts,
                                               const std::vector<bool>& applied) const {
        const bool outside = applied == std::vector<bool>(settings_.size(), false);
        std::vector<model_part> chosen;
        for_each_run(parts, [&](std::span<const model_part> run) {
            const bool layers = is_layer(run.front());
            for (std::uint64_t first = 0; first < run.front().repeat;) {
                const std::uint64_t layer = run.front().first_layer + first;
                std::uint64_t end = layers ? first + 1 : run.front().repeat;
                while (layers && end < run.front().repeat && applied_to(layer + end - first) == applied_to(layer)) {
                    ++end;
                }
                const bool is_chosen = layers ? applied_to(layer) == applied : outside;
                for (model_part part : run) {
                    part.first_layer = layers ? layer : part.first_layer;
                    part.repeat = end - first;
                    part.elsewhere = part.elsewhere || !is_chosen;
                    chosen.push_back(part);
                }
                first = end;
            }
        });
        return chosen;
    }

    [[nodiscard]] double peak_of(std::string_view component, const std::vector<bool>& applied) const {
        double peak = peak_tflops_;
        for (std::size_t i = 0; i < settings_.size(); ++i) {
            const bool named = settings_[i].component.empty() || settings_[i].component == component;
            peak = named && (!settings_[i].layers || applied[i]) ? settings_[i].peak_tflops : peak;
        }
        return peak;
    }

    flop_counter whole_;
    std::vector<precision_setting> settings_;
    double peak_tflops_;
    std::vector<layer_group> groups_;
    detail::visit_shares visits_{};
};

}  // namespace floptally
