import type { Command } from "commander";
import { type AskedLabels, askedLabels } from "../../../admin/operations/find-exchanges.ts";
import { plural } from "../../../base/plural.ts";
import type { ExchangeQuery } from "../../../store/store.ts";
import { since } from "../../arguments.ts";
import { chosenTime, sinceHelp, type TimeOptions, untilHelp } from "../../chosen-time.ts";
import { choiceOption, type DataOptions, newDataCommand } from "../../help.ts";
import { withContent } from "../../open-content.ts";
import { auditChange, withStore } from "../../open-store.ts";
import { Refused, type Terminal } from "../../terminal/terminal.ts";
import { outcomes } from "./list.ts";

type Filters = Pick<ExchangeQuery, "search" | "outcome" | "code" | "model" | "provider" | "route">;

interface ExportOptions extends DataOptions, TimeOptions, Filters, AskedLabels {
  readonly key?: string;
  readonly content?: true;
  readonly jsonl?: true;
}

export function requestsExportCommand(terminal: Terminal): Command {
  return newDataCommand("export", "Write what requests and responses say, one JSON object per line")
    .option("--content", "the recorded content; nothing else can be exported here")
    .option("--jsonl", "one JSON object per line, which is the only format")
    .option(
      "--search <text>",
      "a request's id, a key, an owner, an error code or a tag such as project=atlas",
    )
    .option("--key <key>", "only this key, by id, prefix or label")
    .option("--since <when>", sinceHelp, (text) => since(text))
    .option("--until <when>", untilHelp, (text) => since(text))
    .addOption(choiceOption("outcome", outcomes, "only those that ended so"))
    .option("--code <code>", "only this error code, such as upstream_error")
    .option("--model <model>", "only this model")
    .option("--provider <provider>", "only this provider")
    .option("--route <path>", "only this route, such as /v1/messages")
    .option("--user <user>", "only this user, as the client names it")
    .option("--session <session>", "only this conversation")
    .option("--tag <name=value>", "only what has this tag, such as project=atlas")
    .examples(["sluice requests export --content --since 7d --jsonl > requests.jsonl", "for evaluations"])
    .action(async (options: ExportOptions) => {
      if (options.content !== true)
        throw new Refused("say --content; the list itself is exported by `sluice requests list --csv`");
      const { findKey } = await import("../../../admin/operations/find-key.ts");
      const { exportContent, filterText } = await import("../../../admin/operations/content.ts");
      await withStore(terminal, options, {}, async (context) => {
        const { search, outcome, code, model, provider, route } = options;
        const keyId = options.key === undefined ? undefined : (await findKey(context, options.key)).id;
        const { sinceMs, untilMs } = chosenTime(options, context.clock.wallMs());
        const labels = askedLabels(options);
        const asked = { search, outcome, code, model, provider, route, keyId, labels, sinceMs, untilMs };
        await withContent(context, options, terminal, async (archive) => {
          let exported = 0;
          for await (const { lines, count } of exportContent(context, archive, asked)) {
            await terminal.write(Buffer.from(lines).toString());
            exported += count;
          }
          const detail = `${plural(exported, "request")}: ${filterText(asked)}`;
          await auditChange(context, "content.export", { prefix: "" }, detail);
          terminal.note(terminal.noteStyle.dim(`  ${plural(exported, "request")} exported`));
        });
      });
    });
}
