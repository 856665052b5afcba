import type { EnteredKey, KeyStatusView, KeyView } from "../../../admin/key-terms/schema.ts";
import { balanceText } from "../../account-output.ts";
import { adjustFields, type CreditFields, topUpFields, whetherEntered } from "../../credit-fields.ts";
import { commandGroup } from "../../help.ts";
import { keyDocument, showKey } from "../../key-output.ts";
import { segment } from "../../operations/client.ts";
import {
  type EnteredCall,
  type OperationEntry,
  operation,
  withPlace,
} from "../../operations/operation-command.ts";
import { creditsShown } from "../../terminal/terminal.ts";
import {
  key,
  keysCreateCommand,
  keysMoveCommand,
  keysRaiseCapCommand,
  keysRotateCommand,
  keysUpdateCommand,
  withoutReports,
} from "./change.ts";
import { keysListCommand } from "./list.ts";

const showCommand = operation<KeyView, { key: string }>({
  name: "show",
  summary: "Show one key with its balance and limits",
  call: "GET /keys/:key",
  fields: { key },
  examples: ["sluice keys show slu_8fK2mQ0x"],
  document: (view) => keyDocument(view),
  show: (view, call) => showKey(view, call),
});

const topUpCommand = operation<EnteredKey, CreditFields & { key: string }>({
  name: "topup",
  summary: "Add credit to a key",
  call: "POST /keys/:key/topup",
  fields: { key, ...topUpFields },
  unanswered: whetherEntered,
  examples: [
    "sluice keys topup slu_8fK2mQ0x 10",
    ["sluice keys topup slu_8fK2mQ0x 10 --reference invoice-1042", "safe to repeat"],
  ],
  document: withPlace,
  show: showEntered,
});

const adjustCommand = operation<EnteredKey, CreditFields & { key: string }>({
  name: "adjust",
  summary: "Correct a key's credit, up or down, with a ledger entry",
  call: "POST /keys/:key/adjust",
  fields: { key, ...adjustFields },
  unanswered: whetherEntered,
  examples: [
    'sluice keys adjust slu_8fK2mQ0x -5 --note "invoice 1042 was entered twice"',
    'sluice keys adjust slu_8fK2mQ0x +2.5 --note "refund for the outage"',
  ],
  document: withPlace,
  show: showEntered,
});

function showEntered(
  entered: EnteredKey,
  { given: { amount, reference }, terminal: { style, print } }: EnteredCall<CreditFields>,
): void {
  const { prefix, postpaid, repeated } = entered;
  const balance = postpaid ? balanceText(entered) : `the balance is ${balanceText(entered)}`;
  print(
    repeated
      ? `${style.warn("=")} ${prefix} already has an entry with this reference (${reference}); ${balance}`
      : `${style.good("✓")} ${prefix}: ${amount < 0 ? "-" : "+"}${creditsShown(Math.abs(amount))} credits; ${balance}`,
  );
}

const statuses = { enable: "active", disable: "disabled", suspend: "suspended", revoke: "revoked" } as const;

function statusCommand(
  verb: keyof typeof statuses,
  summary: string,
  more: Pick<OperationEntry<KeyStatusView, { key: string }>, "examples" | "asks"> = {},
) {
  return operation<KeyStatusView, { key: string }>({
    name: verb,
    summary,
    call: `POST /keys/:key/${verb}`,
    fields: { key },
    examples: [`sluice keys ${verb} slu_8fK2mQ0x`],
    ...more,
    document: withPlace,
    show({ changed, prefix, status }, { terminal }) {
      const { style, noteStyle } = terminal;
      terminal.print(
        changed
          ? `${style.good("✓")} ${prefix} is ${status}`
          : `${style.dim("=")} ${prefix} was already ${statuses[verb]}`,
      );
      if (status !== "expired") return;
      terminal.note(
        `${noteStyle.warn("!")} it has expired; set a new expiry: \`sluice keys update ${prefix} --expires 30d\``,
      );
    },
  });
}

const revokeCommand = statusCommand("revoke", "Revoke a key permanently", {
  examples: [
    ["sluice keys revoke slu_8fK2mQ0x", "asks first"],
    ["sluice keys revoke slu_8fK2mQ0x --yes", "in scripts"],
  ],
  async asks({ given, client }) {
    const { prefix, label, status } = await client.get<KeyView>(`/keys${segment(given.key)}`, withoutReports);
    const name = `${prefix}${label === null ? "" : ` (${label})`}`;
    return status === "revoked" ? null : `${name} will be revoked permanently. Continue?`;
  },
});

export const keysCommands = commandGroup("keys", "Create, fund, limit, rotate and revoke keys", [
  keysCreateCommand,
  keysListCommand,
  showCommand,
  topUpCommand,
  adjustCommand,
  keysUpdateCommand,
  keysRaiseCapCommand,
  keysMoveCommand,
  keysRotateCommand,
  statusCommand("disable", "Reject a key with 403 until it is enabled again (suspend: 401)"),
  statusCommand("enable", "Accept a disabled or suspended key again"),
  statusCommand("suspend", "Reject a key with 401 until it is enabled again (disable: 403)"),
  revokeCommand,
]);
