import { useState } from "preact/hooks";
import type { AccountList, AccountView, IssuedKeyView, KeyView } from "../../../admin/views.ts";
import { api, useAnswer } from "../api.ts";
import { Ask } from "../parts/ask.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Secret } from "../parts/secret.tsx";
import { remember } from "../secrets.ts";
import { BilledField, ModeField } from "./account-fields.tsx";
import { KeyCaps } from "./cap-fields.tsx";
import { type CapForm, capForms, capsOf } from "./cap-form.ts";
import { KeyFields } from "./key-fields.tsx";
import { creditsOf, emptyKeyForm, requestOf } from "./key-form.ts";

const noAccounts: readonly AccountView[] = [];

export function CreateKey({ account: given, onClose }: { account?: AccountView; onClose: () => void }) {
  const accounts = useAnswer<AccountList>("/accounts").value?.data ?? noAccounts;
  const [account, setAccount] = useState<AccountView | null>(given ?? null);
  const ownMode = useState<KeyView["mode"]>("credit");
  const open = useState(false);
  const credit = useState("5");
  const [form, setForm] = useState(emptyKeyForm);
  const caps = useState<readonly CapForm[]>(() => capForms(given?.key_caps ?? []));
  const [issued, setIssued] = useState<IssuedKeyView | null>(null);
  const mode = account?.mode ?? ownMode[0];
  const [isOpen] = open;

  const choose = (id: string) => {
    const chosen = accounts.find((one) => one.id === id) ?? null;
    setAccount(chosen);
    caps[1](capForms(chosen?.key_caps ?? []));
  };
  const submit = async () => {
    const start = !isOpen && credit[0].trim() !== "" ? { credit: creditsOf(credit[0]) } : {};
    const payer = account
      ? { account: account.id }
      : { mode, ...(mode === "credit" ? { open: isOpen, ...start } : {}) };
    const attributes = requestOf(form, mode, account !== null);
    const made = await api.post<IssuedKeyView>("/keys", {
      ...payer,
      ...attributes,
      caps: capsOf(caps[0], mode),
    });
    remember(made);
    setIssued(made);
  };

  if (issued) {
    return <Secret title="The new key" issued={issued} onClose={onClose} />;
  }
  const choices = accounts
    .filter(({ status }) => status === "active")
    .map(({ id, label }) => ({ value: id, text: label ?? id }));
  return (
    <Ask title="New key" verb="Create key" onClose={onClose} submit={submit}>
      {choices.length > 0 && (
        <SelectField
          label="Paid by"
          of={[account?.id ?? "", choose]}
          choices={[{ value: "", text: "an account of its own" }, ...choices]}
        />
      )}
      {account === null && <ModeField label="Billing mode" of={ownMode} />}
      {account === null && mode === "credit" && <BilledField of={open} />}
      {account === null && mode === "credit" && !isOpen && (
        <TextField label="Starting credit" of={credit} inputMode="decimal" />
      )}
      <KeyFields form={form} mode={mode} isShared={account !== null} onForm={setForm} />
      <KeyCaps of={caps} mode={mode} />
    </Ask>
  );
}
