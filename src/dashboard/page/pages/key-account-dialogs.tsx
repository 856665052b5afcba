import { useState } from "preact/hooks";
import type { AccountList, CapView } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { useLoaded } from "../loaded.ts";
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
  const [cap, setCap] = useState(choices[0]?.value ?? "");
  const [amount, setAmount] = useState("");
  const [note, setNote] = useState("");
  const submit = async () => {
    await api.post(`/keys/${key.id}/extend`, { cap, amount: amountOf(amount, key.mode), note });
    tell("The cap is raised until it begins anew.");
    onDone();
  };
  return (
    <Ask about={aboutKey(key)} title="Raise a cap once" verb="Raise" onClose={onClose} submit={submit}>
      <p>Only for the period that is running. After it the cap is what it was.</p>
      <SelectField label="Cap" value={cap} choices={choices} onValue={setCap} />
      <TextField
        label={key.mode === "credit" ? "Credits more" : "Tokens more"}
        value={amount}
        onValue={setAmount}
        inputMode="decimal"
        required
      />
      <TextField label="Why" value={note} onValue={setNote} placeholder="Kept in the audit log" required />
    </Ask>
  );
}

export function MoveKey({ of: key, onDone, onClose }: KeyDialogProps) {
  const accounts = useLoaded("accounts", () => api.get<AccountList>("/accounts"));
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
          value={account}
          choices={fitting.map(({ id, label }) => ({ value: id, text: label ?? id }))}
          onValue={setChosen}
        />
      )}
    </Ask>
  );
}
