import type {
  AttemptView,
  EntryView,
  ExchangeDetailView,
  ExchangeView,
} from "../../../admin/requests/schema.ts";
import { count, unitsText } from "../../../base/text/plural.ts";
import { printable } from "../../../base/text/printable.ts";
import { argument, option } from "../../help.ts";
import { operation } from "../../operations/operation-command.ts";
import { type Fact, type Facts, facts, type ListColumn, listTable } from "../../terminal/list.ts";
import { printJson, second, span, type Terminal } from "../../terminal/terminal.ts";
import { paintOutcome } from "./list.ts";

export const requestsShowCommand = operation<ExchangeDetailView, { id: string }, { content?: true }>({
  name: "show",
  summary: "Show why a request ended as it did",
  call: "GET /requests/:id",
  fields: {
    id: argument("<id>", "the x-request-id of the response, or the id that the client sent"),
  },
  extras: {
    content: option("--content", "the recorded content of the request and its response, as JSON"),
  },
  examples: ["sluice requests show req_0f3K9xTz", "sluice requests show req_0f3K9xTz --content"],
  content: ({ content }) => (content ? "documents" : undefined),
  path: ({ content }) => (content ? "/requests/:id/content" : "/requests/:id"),
  show(detail, { given, terminal }) {
    if (given.content) printJson(detail, terminal);
    else terminal.print(asText(detail, terminal));
  },
  after({ others }, { given: { id, content }, terminal }) {
    if (!content && others.length > 0)
      terminal.note(`other requests with the client's id ${id}: ${others.join(", ")}`);
  },
});

function asText(
  { id, request, explanation, attempts, entries }: ExchangeDetailView,
  terminal: Terminal,
): string {
  const parts = [printable(explanation)];
  const charge = entries.findLast((entry) => entry.calculation !== null) ?? null;
  const about: Facts = request === null ? [["request", id]] : requestFacts(request, terminal);
  parts.push(facts([...about, ...chargeFacts(charge, entries)], terminal));
  if (attempts.length > 0) parts.push(attemptTable(attempts, terminal));
  for (const { model, message } of attempts.flatMap(({ denied }) => denied))
    parts.push(printable(`${model} did not run. ${message}`));
  if (entries.length > 0) parts.push(listTable(entryColumns, entries, terminal));
  return parts.join("\n\n");
}

function requestFacts(request: ExchangeView, { style }: Terminal): Facts {
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
  const tags = Object.entries(request.tags).map((tag) => tag.join("="));
  const said = (name: string, text: string | null): Fact | false => text !== null && [name, printable(text)];
  return [
    ["request", request.id],
    ["key", label === null ? prefix : `${prefix}  ${label}`],
    ["outcome", ending.join("  ")],
    ["route", route === "" ? none : `${route}  ${style.dim(request.stream ? "streaming" : "non-streaming")}`],
    ["model", model || (unknownModel === null ? none : `${none}  requested "${printable(unknownModel)}"`)],
    ["provider", provider === "" ? none : `${provider}/${request.upstream_model}`],
    ["began", `${second(request.at)} UTC`],
    ["ended", `${second(request.ended_at)} UTC`],
    ["first byte", firstByteMs === null ? none : span(firstByteMs)],
    ["took", totalMs === null ? none : span(totalMs)],
    [
      isTokens ? "tokens" : "units",
      hasUsageRecord(request) ? used : `${none}  ${style.dim("no usage record")}`,
    ],
    ["charged", `${request.charged} ${request.unit}${basis === null ? "" : `  ${style.dim(basis)}`}`],
    request.list_cost !== null && ["list cost", `${request.list_cost} credits`],
    said("fallback from", request.fallback_from),
    said("stepped down from", request.stepped_down_from),
    said("owner", request.owner),
    said("user", request.user),
    said("session", request.session),
    said("agent", request.agent),
    said("parent agent", request.parent_agent),
    said("batch", request.batch),
    tags.length > 0 && ["tags", tags.join(", ")],
    model !== "" && ["affinity", request.affinity],
  ];
}

/** How the charge was computed, and what exceeded the limits. */
function chargeFacts(charge: EntryView | null, entries: readonly EntryView[]): Facts {
  if (charge === null) return [];
  const { tiers, input_above: above } = charge.rates ?? {};
  return [
    ["calculation", charge.calculation ?? ""],
    charge.requested_model !== charge.model && ["requested model", charge.requested_model ?? ""],
    tiers !== undefined && ["tier", tiers.join(", ")],
    above !== undefined && ["rates", `for more than ${count(above)} tokens of input`],
    ...entries
      .filter(({ kind }) => kind === "overrun")
      .map(({ amount, unit }): Fact => {
        const why = amount < 0 ? "charged above the hold" : "not charged: the balance or a cap was used up";
        return ["overrun", `${Math.abs(amount)} ${unit} ${why}`];
      }),
  ];
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
