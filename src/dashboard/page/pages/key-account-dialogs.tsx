import { useState } from "preact/hooks";
import type { AccountList, CapView } from "../../../admin/views.ts";
import { api, useAnswer } from "../api.ts";
import { Ask } from "../parts/ask.tsx";
import { capWords } from "../parts/cap-bars.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { tell } from "../parts/notices.tsx";
import { amountOf } from "./cap-form.ts";
import { aboutKey, type KeyDialogProps } from "./key-dialogs.tsx";

/** As the API names one of several caps. */
function nameOf({ period, models }: CapView): string {
  return models === null ? period : `${period}:${models}`;
}

export function ExtendKey({ of: key, onDone, onClose }: KeyDialogProps) {
  const choices = key.caps.map((cap) => ({ value: nameOf(cap), text: capWords(cap, key.mode) }));
  const [cap, amount, note] = [useState(choices[0]?.value ?? ""), useState(""), useState("")];
  const submit = async () => {
    const raise = { cap: cap[0], amount: amountOf(amount[0], key.mode), note: note[0] };
    await api.post(`/keys/${key.id}/extend`, raise);
    tell("The cap is raised until it begins anew.");
    onDone();
  };
  const unit = key.mode === "credit" ? "Credits" : "Tokens";
  return (
    <Ask about={aboutKey(key)} title="Raise a cap once" verb="Raise" onClose={onClose} submit={submit}>
      <p>Only for the period that is running. After it the cap is what it was.</p>
      <SelectField label="Cap" of={cap} choices={choices} />
      <TextField label={`${unit} more`} of={amount} inputMode="decimal" required />
      <TextField label="Why" of={note} placeholder="Kept in the audit log" required />
    </Ask>
  );
}

export function MoveKey({ of: key, onDone, onClose }: KeyDialogProps) {
  const accounts = useAnswer<AccountList>("/accounts");
  const fitting = (accounts.value?.data ?? []).filter(
    ({ id, mode, status }) => mode === key.mode && status === "active" && id !== key.account,
  );
  const [chosen, setChosen] = useState("");
  const account = chosen || (fitting[0]?.id ?? "");
  const submit = async () => {
    await api.post(`/keys/${key.id}/move`, { account });
    tell("The key draws on the other account from now on.");
    onDone();
  };
  return (
    <Ask about={aboutKey(key)} title="Move to an account" verb="Move" onClose={onClose} submit={submit}>
      <p>
        What is in flight is charged where it began, and its entries stay there. Its caps and its lifetime
        spend go along.
      </p>
      {accounts.value !== null && fitting.length === 0 ? (
        <p class="muted">There is no other account with {key.mode === "credit" ? "credit" : "a budget"}.</p>
      ) : (
        <SelectField
          label="Account"
          of={[account, setChosen]}
          choices={fitting.map(({ id, label }) => ({ value: id, text: label ?? id }))}
        />
      )}
    </Ask>
  );
}
