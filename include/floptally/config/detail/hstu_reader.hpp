// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/classes.hpp>
#include <floptally/config/detail/name_memory.hpp>
#include <floptally/config/detail/scope.hpp>
#include <floptally/config/detail/unread.hpp>
#include <floptally/descriptors/hstu.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/page_language/fields.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/page_language/page_library.hpp>
#include <floptally/rules/hstu_mask.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail::pages {

/// The reader of a model of HSTU layers, by a page based on `hstu`: its config has no vocabulary and no class, and has
/// lists of MLPs. A key that the page does not declare is refused.
class hstu_reader {
  public:
    hstu_reader(library& pages, const page& read, const fields& config, const read_options& options)
        : pages_(pages), names_(read, config), options_(options) {}

    [[nodiscard]] static bool reads(const page& read) { return root_of(read).name == "hstu"; }

    [[nodiscard]] model_config read() {
        refuse_undeclared(names_);
        if (options_.mtp_layers != 0) {
            refuse("mtp", {"hstu has no multi-token prediction"});
        }
        if (options_.padded_vocab_size != 0) {
            refuse("padded_vocab_size", {"hstu has no vocabulary"});
        }
        names_.check_keys();
        hstu model;
        model.hidden_size = names_.number("h");
        model.num_layers = names_.number("layers");
        model.layer.num_heads = names_.number("heads");
        model_config made;
        condition_checker(names_, made.notes).check(names_.of());
        model.layer.attention_dim = names_.number("attention_dim");
        model.layer.linear_dim = names_.number("linear_dim");
        model.layer.output_blocks = names_.number("blocks");
        model.layer.residual = names_.on("gates");
        model.layer.elementwise = {.norm = names_.number("norms"), .bias = names_.number("biases")};
        model.masks = names_.mask_named("sees");
        read_mlps("preprocessing_mlps", hstu_rows::items, model.preprocessing);
        read_mlps("prediction_mlps", hstu_rows::targets, model.prediction);
        const config_node* name = names_.config().find("name");
        made.model_type = name != nullptr ? name->text : std::string(names_.of().type());
        made.cost = model.cost();
        made.parts = parts_of(model);
        return made;
    }

  private:
    void read_mlps(std::string_view key, hstu_rows rows, std::array<hstu_mlp, hstu::max_mlps>& mlps) {
        const fields& config = names_.config();
        const config_node* const given = config.find(key);
        const std::size_t count = given == nullptr ? 0 : given->count;
        if (count > mlps.size()) {
            refuse(config.field(key), {"must be at most ", mlps.size(), ", got ", count});
        }
        for (std::size_t i = 0; i < count; ++i) {
            mlps[i] =
                read_mlp(fields(config.tree(), config.tree().child(*given, i), indexed(config.field(key), i)), rows);
        }
    }

    [[nodiscard]] hstu_mlp read_mlp(const fields& config, hstu_rows rows) {
        scope names(pages_.find("hstu.mlp", &names_.of(), names_.of().line), config);
        refuse_undeclared(names);
        names.check_keys();
        std::vector<std::string> notes;
        condition_checker(names, notes).check(names.of());
        hstu_mlp mlp{.input_size = names.number("input_size"),
                     .rows = rows,
                     .stride = names.number("stride"),
                     .bias = names.on("biased")};
        for (const hstu_rows part :
             {hstu_rows::all, hstu_rows::context, hstu_rows::items, hstu_rows::history, hstu_rows::targets}) {
            mlp.rows = names.named("rows").text == detail::name_of(part) ? part : mlp.rows;
        }
        std::size_t layer = 0;
        for (const value& width : names.items_of(names.named("widths"))) {
            mlp.layer_sizes[layer++] = static_cast<std::uint64_t>(width.number);
        }
        return mlp;
    }

    library& pages_;
    scope names_;
    read_options options_;
};

}  // namespace floptally::detail::pages
