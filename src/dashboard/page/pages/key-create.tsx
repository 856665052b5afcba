import { useState } from "preact/hooks";
import type { AccountList, AccountView, IssuedKeyView, KeyView } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { Ask } from "../parts/ask.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Secret } from "../parts/secret.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { remember } from "../secrets.ts";
import { BilledField } from "./account-fields.tsx";
import { KeyCaps } from "./cap-fields.tsx";
import { type CapForm, capForms, capsOf } from "./cap-form.ts";
import { KeyFields } from "./key-fields.tsx";
import { creditsOf, emptyKeyForm, requestOf } from "./key-form.ts";

const noAccounts: readonly AccountView[] = [];

export function CreateKey({ account: given, onClose }: { account?: AccountView; onClose: () => void }) {
  const accounts = useLoaded("accounts", () => api.get<AccountList>("/accounts")).value?.data ?? noAccounts;
  const [account, setAccount] = useState<AccountView | null>(given ?? null);
  const [ownMode, setMode] = useState<KeyView["mode"]>("credit");
  const [isOpen, setOpen] = useState(false);
  const [credit, setCredit] = useState("5");
  const [form, setForm] = useState(emptyKeyForm);
  const [caps, setCaps] = useState<readonly CapForm[]>(() => capForms(given?.key_caps ?? []));
  const [issued, setIssued] = useState<IssuedKeyView | null>(null);
  const mode = account?.mode ?? ownMode;

  const choose = (id: string) => {
    const chosen = accounts.find((one) => one.id === id) ?? null;
    setAccount(chosen);
    setCaps(capForms(chosen?.key_caps ?? []));
  };
  const submit = async () => {
    const start = !isOpen && credit.trim() !== "" ? { credit: creditsOf(credit) } : {};
    const payer = account
      ? { account: account.id }
      : { mode, ...(mode === "credit" ? { open: isOpen, ...start } : {}) };
    const attributes = requestOf(form, mode, account !== null);
    const made = await api.post<IssuedKeyView>("/keys", {
      ...payer,
      ...attributes,
      caps: capsOf(caps, mode),
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
          value={account?.id ?? ""}
          choices={[{ value: "", text: "an account of its own" }, ...choices]}
          onValue={choose}
        />
      )}
      {account === null && (
        <Segmented
          label="Billing mode"
          value={mode}
          choices={[
            { value: "credit", text: "Credit" },
            { value: "token_budget", text: "Token budget" },
          ]}
          onValue={(value) => setMode(value === "credit" ? "credit" : "token_budget")}
        />
      )}
      {account === null && mode === "credit" && <BilledField isOpen={isOpen} onOpen={setOpen} />}
      {account === null && mode === "credit" && !isOpen && (
        <TextField label="Starting credit" value={credit} onValue={setCredit} inputMode="decimal" />
      )}
      <KeyFields form={form} mode={mode} isShared={account !== null} onForm={setForm} />
      <KeyCaps caps={caps} mode={mode} onCaps={setCaps} />
    </Ask>
  );
}
