// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/breakdown.hpp>
#include <floptally/error.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/flops.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/parallel/index_range.hpp>
#include <floptally/tally.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/utilization.hpp>

namespace floptally {

/// What runs in a precision of its own: a component, some layers, or a component of some layers.
struct precision_rule {
    std::string component{};  ///< empty: every one
    std::optional<index_range>
        layers{};             ///< of the model's own stack, from 0; none: the whole model, with what is outside
    double peak_tflops = 0;   ///< of one GPU in this precision, dense
    std::string precision{};  ///< its name, for the log
};

/// FLOPs that run at one peak.
struct work_at_peak {
    breakdown work;
    double peak_tflops = 0;  ///< of one GPU, dense
};

/// MFU of a step in several precisions, with the denominator that it stands for.
struct mixed_precision_rate {
    double mfu = 0;  ///< the time that each part would need at the peak of its precision ÷ the time that it took
    double peak_tflops = 0;  ///< useful FLOPs ÷ that time, of one GPU: `mfu` is useful FLOPs ÷ (GPU-seconds x this)

    [[nodiscard]] friend bool operator==(const mixed_precision_rate&, const mixed_precision_rate&) = default;
};

/// Which FLOPs of a model run in which precision. Of rules that name the same work the last one holds; what none names
/// is at `peak_tflops`.
class mixed_precision {
  public:
    /// Rules by component alone.
    mixed_precision(const flop_counter& whole, std::vector<precision_rule> rules, double peak_tflops)
        : mixed_precision(whole, {}, {}, std::move(rules), peak_tflops) {}

    /// Rules that may name layers: of `parts`, which `whole` counts under `plan`.
    mixed_precision(const flop_counter& whole, std::span<const model_part> parts, const training_plan& plan,
                    std::vector<precision_rule> rules, double peak_tflops)
        : whole_(whole), rules_(std::move(rules)), peak_tflops_(peak_tflops) {
        detail::require_finite_positive(peak_tflops, "peak_tflops");
        const breakdown names = whole.evaluate(tally{whole.masks()});
        const std::uint64_t layers = layers_of(parts);
        bool by_layer = false;
        for (const precision_rule& rule : rules_) {
            detail::require_finite_positive(rule.peak_tflops, "peak_tflops");
            if (!rule.component.empty()) {
                static_cast<void>(names[rule.component]);  // an unknown one is an error, never the default
            }
            if (rule.layers && (rule.layers->first >= rule.layers->last || rule.layers->last > layers)) {
                throw error("layers", "must be some of the " + std::to_string(layers) + " layers, got " +
                                          std::to_string(rule.layers->first) + " to " +
                                          std::to_string(rule.layers->last));
            }
            by_layer = by_layer || rule.layers.has_value();
        }
        if (!by_layer) {
            groups_.push_back({std::vector<bool>(rules_.size(), false), whole});
            return;
        }
        for (const auto& [applied, ignored] : keys_of(parts)) {
            groups_.push_back({applied, flop_counter(only(parts, applied), whole.counted_as(), plan)});
        }
    }

    /// The FLOPs of a batch by the peak that they run at, lowest first; they add up to the model's.
    [[nodiscard]] std::vector<work_at_peak> by_peak(const tally& batch) const {
        std::map<double, breakdown> at;
        flops sum;
        for (const group& one : groups_) {
            const breakdown work = one.work.evaluate(batch);
            for (const component_flops& part : work.components()) {
                breakdown alone;
                alone.append(part.name) = part;
                alone.mark_upper_bound(work.is_upper_bound());
                at[peak_of(part.name.view(), one.applied)] += alone;
                sum += part.total(view::useful);
            }
        }
        if (sum != whole_.total(batch)) {
            throw error("parts", "have " + to_string(sum) + " FLOPs layer by layer, and the model " +
                                     to_string(whole_.total(batch)) + ": they are of another model or plan");
        }
        std::vector<work_at_peak> list;
        list.reserve(at.size());
        for (const auto& [peak, work] : at) {
            list.push_back({work, peak});
        }
        return list;
    }

    /// Of a batch that took so many GPU-seconds.
    [[nodiscard]] mixed_precision_rate rate(const tally& batch, double gpu_seconds) const {
        detail::require_finite_positive(gpu_seconds, "seconds");
        double needed = 0;
        flops sum;
        for (const work_at_peak& one : by_peak(batch)) {
            const flops useful = one.work.total(view::useful);
            needed += detail::divide(to_double(useful) / 1e12, one.peak_tflops, "peak_tflops");
            sum += useful;
        }
        return {
            .mfu = detail::divide(needed, gpu_seconds, "seconds"),
            .peak_tflops = needed == 0 ? peak_tflops_ : detail::divide(to_double(sum) / 1e12, needed, "peak_tflops")};
    }

    [[nodiscard]] const flop_counter& whole() const { return whole_; }
    [[nodiscard]] const std::vector<precision_rule>& rules() const { return rules_; }

  private:
    /// Layers that the same rules name, and all that is outside of the layers with those that none names.
    struct group {
        std::vector<bool> applied;
        flop_counter work;
    };

    [[nodiscard]] static bool is_layer(const model_part& one) {
        return one.role == part_role::layer && one.first_layer != no_layer;
    }

    [[nodiscard]] static std::uint64_t layers_of(std::span<const model_part> parts) {
        std::uint64_t end = 0;
        for (const model_part& one : parts) {
            end = is_layer(one) ? std::max(end, one.first_layer + one.repeat) : end;
        }
        return end;
    }

    /// Which rules name the layer.
    [[nodiscard]] std::vector<bool> applied_to(std::uint64_t layer) const {
        std::vector<bool> applied;
        for (const precision_rule& rule : rules_) {
            applied.push_back(rule.layers && layer >= rule.layers->first && layer < rule.layers->last);
        }
        return applied;
    }

    [[nodiscard]] std::map<std::vector<bool>, bool> keys_of(std::span<const model_part> parts) const {
        std::map<std::vector<bool>, bool> keys{{std::vector<bool>(rules_.size(), false), true}};
        for (std::uint64_t layer = 0; layer < layers_of(parts); ++layer) {
            keys[applied_to(layer)] = true;
        }
        return keys;
    }

    /// The parts with all but these layers elsewhere: they stay in the list, so that a plan sees the whole graph.
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
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            const bool named = rules_[i].component.empty() || rules_[i].component == component;
            peak = named && (!rules_[i].layers || applied[i]) ? rules_[i].peak_tflops : peak;
        }
        return peak;
    }

    flop_counter whole_;
    std::vector<precision_rule> rules_;
    double peak_tflops_;
    std::vector<group> groups_;
};

}  // namespace floptally
