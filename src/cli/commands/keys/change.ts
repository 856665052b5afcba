import { type Command, InvalidArgumentError, Option } from "commander";
import type { CapsBody, IssuedKeyView, KeyView } from "../../../admin/keys/schema.ts";
import { keyModes } from "../../../base/key-attributes.ts";
import { type ClientId, clientIds } from "../../../base/models/client-snippets.ts";
import { creditsFromNano } from "../../../base/money/money.ts";
import { locateData } from "../../../config/locate-data.ts";
import type { KeyMode } from "../../../store/store.ts";
import { creditAmount, duration } from "../../arguments.ts";
import { capOption } from "../../cap-options.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { newKeyConnect } from "../../connect/new-key.ts";
import { choiceOption, type DataOptions, newKeyCommand, newOperationCommand } from "../../help.ts";
import { attributesFromOptions, keyOptions, oppositeOptions } from "../../key-options.ts";
import { showKey } from "../../key-output.ts";
import { knownNames } from "../../known-names.ts";
import { type OperationClient, segment } from "../../operations/client.ts";
import { withOperations } from "../../operations/with-operations.ts";
import { servedAddress } from "../../serve/files-for-commands.ts";
import { Misuse, type Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly mode?: KeyMode;
  readonly account?: string;
  readonly postpaid?: true;
  readonly cap?: CapsBody;
  readonly credit?: number;
  readonly budget?: number;
  readonly period?: string;
  readonly for?: ClientId;
}

export function keysCreateCommand(terminal: Terminal): Command {
  const { label, ...limits } = keyOptions("create");
  const command = newOperationCommand("create", "Create a key; its secret is shown only once")
    .addOption(choiceOption("mode", keyModes, "what the key spends: credits or a token budget"))
    .option("--account <account>", "bill this account, by id or label; the key gets its mode")
    .option("--postpaid", "postpaid: no balance needed, only caps limit it")
    .addOption(capOption("cap", "maximum spend: 5/day, 20/week:claude-opus-*; repeatable"))
    .addOption(label)
    .option("--credit <n>", "opening balance of a credit key, in credits", creditAmount)
    .addOption(
      new Option("--for <client>", `also print the settings of ${clientIds.join(", ")}`).choices(clientIds),
    )
    .examples(
      "sluice keys create --mode credit --credit 5 --label alice",
      "sluice keys create --mode token_budget --budget 1000000 --period month",
      "sluice keys create --mode credit --credit 20 --provider openai --rpm 60 --expires 30d",
      ["sluice keys create --mode credit --credit 1 --json | jq -r .key", "only the secret"],
    )
    .action(async (options: Options) => {
      checkMode(options);
      const { mode, account, postpaid, cap: caps, credit } = options;
      const creditBody = credit === undefined ? {} : { credit: creditsFromNano(credit) };
      const body = { ...attributesFromOptions(options), mode, account, postpaid, caps, ...creditBody };
      await withOperations(terminal, options, { create: true }, async (client) => {
        const issued = await client.post<IssuedKeyView>("/keys", body);
        const connect =
          options.for === undefined
            ? null
            : await connectWith(options.for, issued, client, options, terminal);
        const output = { json: options.json, place: client.place, done: "created", connect } as const;
        await showKey(client, issued, output, terminal);
      });
    });
  for (const option of Object.values(limits)) command.addOption(option);
  return command;
}

function connectWith(
  app: ClientId,
  issued: IssuedKeyView,
  client: OperationClient,
  options: DataOptions,
  terminal: Terminal,
) {
  const { env, cwd } = terminal;
  const dir = locateData({ file: options.config, data: options.data, env, cwd });
  const address = client.address ?? servedAddress(dir);
  return newKeyConnect(app, issued, {
    address,
    knownModels: knownNames(options, dir, terminal)?.models ?? [],
  });
}

function checkMode(options: Options): void {
  if (options.mode === undefined && options.account === undefined) {
    throw new Misuse("pass --mode credit, --mode token_budget or --account ACCOUNT");
  }
  if (options.mode === "credit" && (options.budget !== undefined || options.period !== undefined)) {
    throw new Misuse("--budget and --period are for --mode token_budget; a credit key takes --credit");
  }
  if (options.mode === "token_budget" && options.credit !== undefined) {
    throw new Misuse("--credit is for --mode credit; a token-budget key takes --budget");
  }
}

/** Changes a key by one operation, and shows it. */
async function changeKey(
  terminal: Terminal,
  options: DataOptions,
  done: "updated" | "rotated",
  change: (client: OperationClient) => Promise<KeyView>,
): Promise<void> {
  await withOperations(terminal, options, { writes: true }, async (client) => {
    const output = { json: options.json, place: client.place, done };
    await showKey(client, await change(client), output, terminal);
  });
}

export function keysUpdateCommand(terminal: Terminal): Command {
  const command = newKeyCommand("update", "Change a key's label, limits, provider scope or expiry")
    .examples("sluice keys update slu_8fK2mQ0x --rpm 120 --models gpt-5.6,demo-small", [
      "sluice keys update slu_8fK2mQ0x --expires 30d",
      "also reactivates an expired key",
    ])
    .addOption(capOption("cap", "replaces all its caps: 5/day, 20/week:claude-opus-*; repeatable"))
    .action(async (name: string, options: DataOptions & { readonly cap?: CapsBody }) => {
      const update = { ...attributesFromOptions(options), caps: options.cap };
      if (Object.values(update).every((value) => value === undefined)) {
        throw new Misuse("nothing to change; pass an option such as --label, --rpm or --expires");
      }
      await changeKey(terminal, options, "updated", (client) =>
        client.patch(`/keys${segment(name)}`, update),
      );
    });
  const options = [...Object.values(keyOptions("update")), ...oppositeOptions()];
  for (const option of options) command.addOption(option);
  return command;
}

export function keysExtendCommand(terminal: Terminal): Command {
  return newKeyCommand("raise-cap", "Raise a key's cap for the current period only")
    .argument("<amount>", "by how much, in credits or tokens", aboveZero)
    .option("--cap <period[:models]>", "which cap, if there are several: month, week:claude-opus-*")
    .requiredOption("--note <text>", "reason, for the audit log")
    .examples('sluice keys raise-cap slu_8fK2mQ0x 20 --cap month --note "release week"')
    .action(async (name: string, amount: number, { cap, note, ...options }: ExtendOptions) => {
      await changeKey(terminal, options, "updated", (client) =>
        client.post(`/keys${segment(name)}/raise-cap`, { amount, cap, note }),
      );
    });
}

interface ExtendOptions extends DataOptions {
  readonly cap?: string;
  readonly note: string;
}

function aboveZero(text: string): number {
  if (/^\d+(\.\d{1,9})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("Use an amount above 0, such as 20 or 0.5.");
}

export function keysMoveCommand(terminal: Terminal): Command {
  return newKeyCommand("move", "Bill a key to another account; its entries stay in the old one")
    .requiredOption("--account <account>", "the other account's id or label")
    .examples("sluice keys move slu_8fK2mQ0x --account atlas")
    .action(async (name: string, { account, ...options }: DataOptions & { readonly account: string }) => {
      await changeKey(terminal, options, "updated", (client) =>
        client.post(`/keys${segment(name)}/move`, { account }),
      );
    });
}

export function keysRotateCommand(terminal: Terminal): Command {
  return newKeyCommand("rotate", "Issue a new secret for a key; balance, label and limits stay")
    .option("--grace <time>", "how long the old secret still works, such as 24h (default: 0)", duration, 0)
    .option("--yes", "skip confirmation")
    .examples(["sluice keys rotate slu_8fK2mQ0x --grace 24h", "a day to update all clients"])
    .action(async (name: string, options: DataOptions & YesOption & { readonly grace: number }) => {
      await changeKey(terminal, options, "rotated", async (client) => {
        // A script rotates on purpose and reads the new secret; a user may have forgotten the grace period.
        if (options.grace === 0 && terminal.interactive) {
          const { prefix } = await client.get<KeyView>(`/keys${segment(name)}`);
          const question = `The old secret of ${prefix} stops working immediately. Rotate it?`;
          await confirm(question, options, terminal);
        }
        return client.post(`/keys${segment(name)}/rotate`, { grace_seconds: options.grace / 1000 });
      });
    });
}
