import type { Command } from "commander";
import type {
  AttemptView,
  EntryView,
  ExchangeDetailView,
  ExchangeView,
} from "../../../admin/requests/schema.ts";
import { count, unitsText } from "../../../base/text/plural.ts";
import { printable } from "../../../base/text/printable.ts";
import { type DataOptions, newOperationCommand } from "../../help.ts";
import { segment } from "../../operations/client.ts";
import { withOperations } from "../../operations/with-operations.ts";
import { facts, type ListColumn, listTable } from "../../terminal/list.ts";
import { printJson, second, span, type Terminal } from "../../terminal/terminal.ts";
import { paintOutcome } from "./list.ts";

export function requestsShowCommand(terminal: Terminal): Command {
  return newOperationCommand("show", "Show why a request ended as it did")
    .argument("<id>", "the x-request-id of the response, or the id that the client sent")
    .option("--content", "the recorded content of the request and its response, as JSON")
    .examples("sluice requests show req_0f3K9xTz", "sluice requests show req_0f3K9xTz --content")
    .action(async (id: string, options: DataOptions & { readonly content?: true }) => {
      const path = `/requests${segment(id)}`;
      const use = options.content ? ({ content: "documents" } as const) : {};
      await withOperations(terminal, options, use, async (client) => {
        if (options.content) return printJson(await client.get(`${path}/content`), terminal);
        const detail = await client.get<ExchangeDetailView>(path);
        const { others } = detail;
        if (options.json) printJson(detail, terminal);
        else terminal.print(asText(detail, terminal));
        if (others.length > 0)
          terminal.note(`other requests with the client's id ${id}: ${others.join(", ")}`);
      });
    });
}

function asText(
  { id, request, explanation, attempts, entries }: ExchangeDetailView,
  terminal: Terminal,
): string {
  const parts = [printable(explanation)];
  const charge = entries.findLast((entry) => entry.calculation !== null) ?? null;
  const about: (readonly [string, string])[] =
    request === null ? [["request", id]] : requestFacts(request, terminal);
  parts.push(facts([...about, ...chargeFacts(charge, entries)], terminal));
  if (attempts.length > 0) parts.push(attemptTable(attempts, terminal));
  for (const { model, message } of attempts.flatMap(({ denied }) => denied))
    parts.push(printable(`${model} did not run. ${message}`));
  if (entries.length > 0) parts.push(listTable(entryColumns, entries, terminal));
  return parts.join("\n\n");
}

function requestFacts(request: ExchangeView, { style }: Terminal): (readonly [string, string])[] {
  const none = style.dim("–");
  const { key_prefix: prefix, key_label: label, outcome, status, code, route, model } = request;
  const {
    provider,
    unknown_model: unknownModel,
    first_byte_ms: firstByteMs,
    total_ms: totalMs,
    basis,
  } = request;
  const input = request.input_tokens + request.cached_input_tokens + request.cache_write_tokens;
  const { output_tokens: output, units } = request;
  const isTokens = units === null || input + output > 0;
  const used = isTokens ? `${count(input)} in, ${count(output)} out` : unitsText(units);
  const ending = [paintOutcome(outcome, style), status, code].filter((part) => part !== null);
  const list: (readonly [string, string])[] = [
    ["request", request.id],
    ["key", label === null ? prefix : `${prefix}  ${label}`],
    ["outcome", ending.join("  ")],
    ["route", route === "" ? none : `${route}  ${style.dim(request.stream ? "streaming" : "non-streaming")}`],
    ["model", model || (unknownModel === null ? none : `${none}  requested "${printable(unknownModel)}"`)],
    ["provider", provider === "" ? none : `${provider}/${request.upstream_model}`],
    ["began", `${second(Date.parse(request.at))} UTC`],
    ["ended", `${second(Date.parse(request.ended_at))} UTC`],
    ["first byte", firstByteMs === null ? none : span(firstByteMs)],
    ["took", totalMs === null ? none : span(totalMs)],
    [
      isTokens ? "tokens" : "units",
      hasUsageRecord(request) ? used : `${none}  ${style.dim("no usage record")}`,
    ],
    ["charged", `${request.charged} ${request.unit}${basis === null ? "" : `  ${style.dim(basis)}`}`],
  ];
  if (request.list_cost !== null) list.push(["list cost", `${request.list_cost} credits`]);
  if (request.fallback_from !== null) list.push(["fallback from", printable(request.fallback_from)]);
  if (request.stepped_down_from !== null)
    list.push(["stepped down from", printable(request.stepped_down_from)]);
  if (request.owner !== null) list.push(["owner", printable(request.owner)]);
  if (request.user !== null) list.push(["user", printable(request.user)]);
  if (request.session !== null) list.push(["session", printable(request.session)]);
  const tags = Object.entries(request.tags).map((tag) => tag.join("="));
  if (tags.length > 0) list.push(["tags", tags.join(", ")]);
  if (model !== "") list.push(["affinity", request.affinity]);
  return list;
}

/** How the charge was computed, and what exceeded the limits. */
function chargeFacts(charge: EntryView | null, entries: readonly EntryView[]): (readonly [string, string])[] {
  if (charge === null) return [];
  const overruns = entries.filter(({ kind }) => kind === "overrun");
  const list: (readonly [string, string])[] = [["calculation", charge.calculation ?? ""]];
  if (charge.requested_model !== charge.model) list.push(["requested model", charge.requested_model ?? ""]);
  const { tiers, input_above: above } = charge.rates ?? {};
  if (tiers !== undefined) list.push(["tier", tiers.join(", ")]);
  if (above !== undefined) list.push(["rates", `for more than ${count(above)} tokens of input`]);
  for (const { amount, unit } of overruns) {
    const why = amount < 0 ? "owed above the cap" : "not charged: the balance or a cap was used up";
    list.push(["overrun", `${Math.abs(amount)} ${unit} ${why}`]);
  }
  return list;
}

function hasUsageRecord({ outcome, basis }: ExchangeView): boolean {
  return outcome === "completed" || (outcome === "failed" && basis !== null);
}

function attemptTable(attempts: readonly AttemptView[], terminal: Terminal): string {
  const { style } = terminal;
  const columns: readonly ListColumn<AttemptView>[] = [
    { name: "attempt", title: "ATTEMPT", ...right, cell: (each) => String(attempts.indexOf(each) + 1) },
    { name: "deployment", title: "DEPLOYMENT" },
    { name: "status", title: "STATUS", ...right },
    {
      name: "failure",
      title: "RESULT",
      cell: ({ failure }) => (failure === null ? style.good("OK") : style.bad(failure)),
    },
    { name: "duration_ms", title: "TOOK", ...right, cell: (attempt) => span(attempt.duration_ms) },
    {
      name: "provider_message",
      title: "MESSAGE",
      elastic: true,
      cell: ({ provider_message: message, cause }) => printable(message ?? cause ?? "–"),
    },
  ];
  return listTable(columns, attempts, terminal);
}

const right = { align: "right" } as const;

const entryColumns: readonly ListColumn<EntryView>[] = [
  { name: "id", title: "ENTRY", ...right },
  { name: "kind", title: "KIND" },
  { name: "amount", title: "AMOUNT", ...right, cell: ({ amount, unit }) => `${amount} ${unit}` },
];
