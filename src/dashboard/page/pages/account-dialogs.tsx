import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { AccountView, KeyView } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { count } from "../format.ts";
import { Ask } from "../parts/ask.tsx";
import { accountStanding } from "../parts/balance.tsx";
import type { DialogProps } from "../parts/dialogs.tsx";
import { TextField } from "../parts/field.tsx";
import { tell } from "../parts/notices.tsx";
import {
  AccountFields,
  accountFormOf,
  accountRequest,
  emptyAccountForm,
  ModeField,
} from "./account-fields.tsx";
import { AdjustBalance, TopUpBalance } from "./credit-dialogs.tsx";
import { creditsOf } from "./key-form.ts";

type AccountDialogProps = DialogProps<AccountView>;

function about(account: AccountView): ComponentChildren {
  const { main, side } = accountStanding(account);
  return `${account.label ?? account.id} · ${main} ${side}`;
}

export function CreateAccount({ onDone, onClose }: Omit<AccountDialogProps, "of">) {
  const chosen = useState<KeyView["mode"]>("credit");
  const credit = useState("");
  const [form, setForm] = useState(emptyAccountForm);
  const [mode] = chosen;
  const isPrepaid = mode === "credit" && !form.isOpen;
  const submit = async () => {
    const start = isPrepaid && credit[0].trim() !== "" ? { credit: creditsOf(credit[0]) } : {};
    await api.post("/accounts", { mode, ...start, ...accountRequest(form, mode) });
    tell(`The account ${form.label.trim()} was made.`);
    onDone();
  };
  return (
    <Ask title="New account" verb="Create account" onClose={onClose} submit={submit}>
      <ModeField label="What its keys spend" of={chosen} />
      <AccountFields form={form} mode={mode} onForm={setForm} />
      {isPrepaid && <TextField label="Starting credit" of={credit} inputMode="decimal" />}
    </Ask>
  );
}

export function EditAccount({ of: account, onDone, onClose }: AccountDialogProps) {
  const [form, setForm] = useState(() => accountFormOf(account));
  const submit = async () => {
    await api.patch(`/accounts/${account.id}`, accountRequest(form, account.mode));
    tell("The account was changed.");
    onDone();
  };
  return (
    <Ask about={about(account)} title="Edit account" verb="Save" onClose={onClose} submit={submit}>
      <AccountFields form={form} mode={account.mode} onForm={setForm} />
    </Ask>
  );
}

export function TopUpAccount({ of: account, ...dialog }: AccountDialogProps) {
  const name = account.label ?? account.id;
  return (
    <TopUpBalance path={`/accounts/${account.id}/topup`} name={name} about={about(account)} {...dialog}>
      {account.open && <p>It lowers what is owed.</p>}
      {!account.open && account.status === "closed" && (
        <p class="bad">The account is closed: no key can spend what is added.</p>
      )}
    </TopUpBalance>
  );
}

export function AdjustAccount({ of: account, ...dialog }: AccountDialogProps) {
  const name = account.label ?? account.id;
  return (
    <AdjustBalance path={`/accounts/${account.id}/adjust`} name={name} about={about(account)} {...dialog} />
  );
}

export function CloseAccount({ of: account, onDone, onClose }: AccountDialogProps) {
  const name = account.label ?? account.id;
  const keyCount = account.keys.length;
  const submit = async () => {
    await api.post(`/accounts/${account.id}/close`);
    tell(`${name} was closed.`);
    onDone();
  };
  return (
    <Ask
      about={about(account)}
      title={`Close ${name}?`}
      verb="Close for good"
      danger
      onClose={onClose}
      submit={submit}
    >
      <p>
        {keyCount === 1 ? "Its key is" : `Its ${count(keyCount)} keys are`} refused from now on, on every
        node, within a second, and it takes no new ones. Calls that have begun end as they would.{" "}
        <strong>This cannot be undone.</strong> Its entries stay, and it can still be topped up.
      </p>
    </Ask>
  );
}
