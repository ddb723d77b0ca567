// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// MFU of a step whose parts run in precisions of their own.

namespace floptally {

/// A precision and where it holds: in a component, in some layers, or in a component of some layers.
struct precision_setting {
    std::string component{};  ///< empty: every component
    /// Layers of the model's own stack, from 0; none: the whole model, with what is outside of its layers.
    std::optional<index_range> layers{};
    double peak_tflops = 0;   ///< of one GPU in this precision, dense
    std::string precision{};  ///< its name, for the log
};

/// FLOPs that run at one peak.
struct work_at_peak {
    breakdown work;
    double peak_tflops = 0;  ///< of one GPU, dense
};

/// MFU of a step in several precisions, and the peak that it is stated against.
struct mixed_precision_rate {
    double mfu = 0;  ///< Σ time that a piece of work needs at the peak of its precision ÷ the time of the step
    double peak_tflops =
        0;  ///< useful FLOPs ÷ Σ of those times, of one GPU: `mfu` is useful FLOPs ÷ (GPU-seconds x this)

    [[nodiscard]] friend bool operator==(const mixed_precision_rate&, const mixed_precision_rate&) = default;
};

/// The precision of each FLOP of a model. Where two settings name the same work, the later one holds; work that none
/// names runs at `peak_tflops`.
class mixed_precision {
  public:
    /// Settings by component alone.
    mixed_precision(const flop_counter& whole, std::vector<precision_setting> settings, double peak_tflops)
        : mixed_precision(whole, {}, {}, std::move(settings), peak_tflops) {}

    /// Settings that may name layers: of `parts`, which `whole` counts under `plan`.
    mixed_precision(const flop_counter& whole, std::span<const model_part> parts, const training_plan& plan,
                    std::vector<precision_setting> settings, double peak_tflops)
        : whole_(whole), settings_(std::move(settings)), peak_tflops_(peak_tflops) {
        detail::require_finite_positive(peak_tflops, "peak_tflops");
        const breakdown names = whole.evaluate(tally{whole.masks()});
        const std::uint64_t layers = layers_of(parts);
        bool by_layer = false;
        for (const precision_setting& setting : settings_) {
            detail::require_finite_positive(setting.peak_tflops, "peak_tflops");
            if (!setting.component.empty()) {
                static_cast<void>(names[setting.component]);  // refuses an unknown component
            }
            if (setting.layers && (setting.layers->first >= setting.layers->last || setting.layers->last > layers)) {
                detail::refuse("layers", {"must be some of the ", layers, " layers, got ", setting.layers->first,
                                          " to ", setting.layers->last});
            }
            by_layer = by_layer || setting.layers.has_value();
        }
        if (!by_layer) {
            groups_.push_back({{}, whole});
            return;
        }
        for (const std::vector<bool>& applied : setting_sets(parts)) {
            groups_.push_back({applied, flop_counter(only(parts, applied), whole.counted_as(), plan)});
        }
    }

    /// The FLOPs of a batch by the peak that they run at, lowest first; they add up to the model's.
    [[nodiscard]] std::vector<work_at_peak> by_peak(const tally& batch) const {
        std::map<double, breakdown> work_at;
        flops sum;
        for (const layer_group& group : groups_) {
            const breakdown work = group.work.evaluate(batch);
            for (const component_flops& component : work.components()) {
                breakdown alone;
                alone.append(component.name) = component;
                alone.mark_upper_bound(work.is_upper_bound());
                work_at[peak_of(component.name.view(), group.applied)] += alone;
                sum += component.total(view::useful);
            }
        }
        if (sum != whole_.total(batch)) {
            detail::refuse("parts", {"have ", to_string(sum), " FLOPs layer by layer, and the model ",
                                     to_string(whole_.total(batch)), ": they are of another model or plan"});
        }
        std::vector<work_at_peak> list;
        list.reserve(work_at.size());
        for (const auto& [peak, work] : work_at) {
            list.push_back({work, peak});
        }
        return list;
    }

    /// The mixed-precision MFU of a batch that took so many GPU-seconds.
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
    [[nodiscard]] const std::vector<precision_setting>& settings() const { return settings_; }

  private:
    /// The FLOPs of the layers to which the same settings apply. What is outside of the layers is in the group of none.
    struct layer_group {
        std::vector<bool> applied;  ///< for each setting, where one has layers
        flop_counter work;
    };

    [[nodiscard]] static bool is_layer(const model_part& part) {
        return part.role == part_role::layer && part.first_layer != no_layer;
    }

    [[nodiscard]] static std::uint64_t layers_of(std::span<const model_part> parts) {
        std::uint64_t end = 0;
        for (const model_part& part : parts) {
            end = is_layer(part) ? std::max(end, part.first_layer + part.repeat) : end;
        }
        return end;
    }

    /// True for each setting that names the layer.
    [[nodiscard]] std::vector<bool> applied_to(std::uint64_t layer) const {
        std::vector<bool> applied;
        for (const precision_setting& setting : settings_) {
            applied.push_back(setting.layers && layer >= setting.layers->first && layer < setting.layers->last);
        }
        return applied;
    }

    /// The sets of settings that apply to some layer, and the empty set.
    [[nodiscard]] std::set<std::vector<bool>> setting_sets(std::span<const model_part> parts) const {
        std::set<std::vector<bool>> sets{std::vector<bool>(settings_.size(), false)};
        for (std::uint64_t layer = 0; layer < layers_of(parts); ++layer) {
            sets.insert(applied_to(layer));
        }
        return sets;
    }

    /// The parts, marked `elsewhere` unless exactly these settings apply to them: a plan still sees the whole graph.
    [[nodiscard]] std::vector<model_part> only(std::span<const model_part> parts,
                                               const std::vector<bool>& applied) const {
        const bool outside = std::find(applied.begin(), applied.end(), true) == applied.end();
        std::vector<model_part> chosen;
        for_each_run(parts, [&](std::span<const model_part> run) {
            const bool layers = is_layer(run.front());
            for (std::uint64_t first = 0; first < run.front().repeat;) {
                const std::uint64_t layer = run.front().first_layer + first;
                std::uint64_t end = layers ? first + 1 : run.front().repeat;
                while (layers && end < run.front().repeat && applied_to(layer + end - first) == applied_to(layer)) {
                    ++end;
                }
                const bool here = layers ? applied_to(layer) == applied : outside;
                for (model_part part : run) {
                    part.first_layer = layers ? layer : part.first_layer;
                    part.repeat = end - first;
                    part.elsewhere = part.elsewhere || !here;
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
};

}  // namespace floptally
