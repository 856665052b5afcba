import { Option } from "commander";
import type { CapsBody, IssuedKeyView, KeyChangesBody, KeyView } from "../../../admin/key-terms/schema.ts";
import type { ModelBriefView } from "../../../admin/models/schema.ts";
import { keyModes } from "../../../base/key-attributes.ts";
import { type ClientId, clientIds } from "../../../base/models/client-snippets.ts";
import { creditsFromNano } from "../../../base/money/money.ts";
import type { KeyMode } from "../../../store/store.ts";
import { aboveZero, creditAmount, duration } from "../../arguments.ts";
import { capOption } from "../../cap-options.ts";
import { newKeyConnect } from "../../connect/new-key.ts";
import { dataFolder } from "../../data-place.ts";
import { argument, choiceOption, option, requiredOption } from "../../help.ts";
import { keyOptions } from "../../key-options.ts";
import { keyDocument, showKey } from "../../key-output.ts";
import { type OperationClient, segment } from "../../operations/client.ts";
import { type EnteredCall, type OperationEntry, operation } from "../../operations/operation-command.ts";
import { publicAddress } from "../../serve/files-for-commands.ts";
import { Misuse } from "../../terminal/terminal.ts";

export const key = argument("<key>", "its id, prefix or label");
/** For the question before a change, which must not wait for a report. */
export const withoutReports = { last_used: false };

interface NewKeyFields extends KeyChangesBody {
  readonly mode?: KeyMode;
  readonly account?: string;
  readonly postpaid?: true;
  readonly caps?: CapsBody;
  readonly credit?: number;
}

interface ForClient {
  readonly client?: ClientId;
}

const { label, ...limits } = keyOptions("create");

export const keysCreateCommand = operation<IssuedKeyView, NewKeyFields, ForClient, readonly string[]>({
  name: "create",
  summary: "Create a key; its secret is shown only once",
  call: "POST /keys",
  fields: {
    mode: choiceOption("mode", keyModes, "what the key spends: credits or a token budget"),
    account: option("--account <account>", "bill this account, by id or label; the key gets its mode"),
    postpaid: option("--postpaid", "postpaid: no balance needed, only caps limit it"),
    caps: capOption("cap", "maximum spend: 5/day, 20/week:claude-opus-*; repeatable"),
    label,
    credit: option("--credit <n>", "opening balance of a credit key, in credits", (text) =>
      creditsFromNano(creditAmount(text)),
    ),
    ...limits,
  },
  extras: {
    client: new Option("--for <client>", `also print the settings of ${clientIds.join(", ")}`).choices(
      clientIds,
    ),
  },
  examples: [
    "sluice keys create --mode credit --credit 5 --label alice",
    "sluice keys create --mode token_budget --budget 1000000 --period month",
    "sluice keys create --mode credit --credit 20 --provider openai --rpm 60 --expires 30d",
    ["sluice keys create --mode credit --credit 1 --json | jq -r .key", "only the secret"],
  ],
  creates: true,
  check: checkMode,
  unanswered: () =>
    "`sluice keys list` shows whether it was created, and `sluice keys rotate` issues a new secret",
  prepare: async ({ given, client }) => (given.client === undefined ? [] : modelsOf(client)),
  document: async (issued, call, models) =>
    keyDocument(issued, call.client.place, await connectWith(issued, call, models)),
  show: (issued, call, models) => showKey(issued, call, "created", () => connectWith(issued, call, models)),
});

/** The settings of a client with the new key, for which the gateway is asked what the key can use; null if none was named. */
async function connectWith(
  issued: IssuedKeyView,
  { given, client, options, terminal }: EnteredCall<ForClient>,
  knownModels: readonly string[] = [],
) {
  if (given.client === undefined) return null;
  const address = client.address ?? publicAddress(dataFolder(options, terminal));
  return newKeyConnect(given.client, issued, { address, knownModels });
}

/** Empty with a configuration that cannot be read. */
async function modelsOf(client: OperationClient): Promise<readonly string[]> {
  const models = await client.list<ModelBriefView>("/models/brief").catch(() => []);
  return models.flatMap(({ id, aliases }) => [id, ...aliases]);
}

function checkMode({ mode, account, budget_tokens: budget, period, credit }: NewKeyFields): void {
  if (mode === undefined && account === undefined) {
    throw new Misuse("pass --mode credit, --mode token_budget or --account ACCOUNT");
  }
  if (mode === "credit" && (budget !== undefined || period !== undefined)) {
    throw new Misuse("--budget and --period are for --mode token_budget; a credit key takes --credit");
  }
  if (mode === "token_budget" && credit !== undefined) {
    throw new Misuse("--credit is for --mode credit; a token-budget key takes --budget");
  }
}

/** Changes a key, and shows it. */
function change<Fields extends object>(
  entry: OperationEntry<KeyView, Fields & { key: string }>,
  done: (key: string) => string = () => "updated",
) {
  return operation<KeyView, Fields & { key: string }>({
    ...entry,
    document: (view, { client }) => keyDocument(view, client.place),
    show: (view, call) => showKey(view, call, done(call.given.key)),
  });
}

export const keysUpdateCommand = change<KeyChangesBody>({
  name: "update",
  summary: "Change a key's label, limits, provider scope or expiry",
  call: "PATCH /keys/:key",
  fields: {
    key,
    caps: capOption("cap", "replaces all its caps: 5/day, 20/week:claude-opus-*; repeatable"),
    ...keyOptions("update"),
  },
  examples: [
    "sluice keys update slu_8fK2mQ0x --rpm 120 --models gpt-5.6,demo-small",
    ["sluice keys update slu_8fK2mQ0x --expires 30d", "also reactivates an expired key"],
  ],
  check({ key: _, ...changes }) {
    if (Object.values(changes).some((value) => value !== undefined)) return;
    throw new Misuse("nothing to change; pass an option such as --label, --rpm or --expires");
  },
});

export const keysRaiseCapCommand = change<{ amount: number; cap?: string; note: string }>({
  name: "raise-cap",
  summary: "Raise a key's cap for the current period only",
  call: "POST /keys/:key/raise-cap",
  fields: {
    key,
    amount: argument("<amount>", "by how much, in credits or tokens", aboveZero),
    cap: option("--cap <period[:models]>", "which cap, if there are several: month, week:claude-opus-*"),
    note: requiredOption("--note <text>", "reason, for the audit log"),
  },
  examples: ['sluice keys raise-cap slu_8fK2mQ0x 20 --cap month --note "release week"'],
});

export const keysMoveCommand = change<{ account: string }>({
  name: "move",
  summary: "Bill a key to another account; entries and shared files stay",
  call: "POST /keys/:key/move",
  fields: { key, account: requiredOption("--account <account>", "the other account's id or label") },
  examples: ["sluice keys move slu_8fK2mQ0x --account atlas"],
});

export const keysRotateCommand = change<{ grace_seconds: number }>(
  {
    name: "rotate",
    summary: "Issue a new secret for a key; balance, label and limits stay",
    call: "POST /keys/:key/rotate",
    fields: {
      key,
      grace_seconds: option(
        "--grace <time>",
        "how long the old secret still works, such as 24h (default: 0)",
        (text) => duration(text) / 1000,
      ).default(0),
    },
    examples: [["sluice keys rotate slu_8fK2mQ0x --grace 24h", "a day to update all clients"]],
    async asks({ given, client, terminal }) {
      // A script rotates on purpose and reads the new secret; a user may have forgotten the grace period.
      if (given.grace_seconds > 0 || !terminal.interactive) return null;
      const { prefix } = await client.get<KeyView>(`/keys${segment(given.key)}`, withoutReports);
      return `The old secret of ${prefix} stops working immediately. Rotate it?`;
    },
  },
  (key) => `rotated ${key}: now`,
);
