import { useState } from "preact/hooks";
import type { AccountView } from "../../../admin/accounts/schema.ts";
import type { KeyView } from "../../../admin/key-terms/schema.ts";
import { api } from "../api.ts";
import { count } from "../format.ts";
import { Ask } from "../parts/ask.tsx";
import { accountBalance, balanceText } from "../parts/balance.tsx";
import type { DialogProps } from "../parts/dialogs.tsx";
import { TextField } from "../parts/field.tsx";
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

function describe(account: AccountView) {
  const name = account.label ?? account.id;
  return {
    path: `/accounts/${account.id}`,
    name,
    about: `${name} · ${balanceText(accountBalance(account))}`,
  };
}

export function CreateAccount({ onClose }: DialogProps<null>) {
  const chosen = useState<KeyView["mode"]>("credit");
  const credit = useState("");
  const [form, setForm] = useState(emptyAccountForm);
  const [mode] = chosen;
  const isPrepaid = mode === "credit" && !form.isPostpaid;
  const send = async () => {
    const start = isPrepaid && credit[0].trim() !== "" ? { credit: creditsOf(credit[0]) } : {};
    await api.post("/accounts", { mode, ...start, ...accountRequest(form, mode) });
  };
  const done = `Account ${form.label.trim()} created.`;
  return (
    <Ask onClose={onClose} title="New account" verb="Create account" send={send} done={done}>
      <ModeField label="Billing mode" state={chosen} />
      <AccountFields form={form} mode={mode} onForm={setForm} />
      {isPrepaid && <TextField label="Starting credit" state={credit} inputMode="decimal" />}
    </Ask>
  );
}

export function EditAccount({ subject: account, ...dialog }: AccountDialogProps) {
  const [form, setForm] = useState(() => accountFormOf(account));
  const send = () => api.patch(`/accounts/${account.id}`, accountRequest(form, account.mode));
  const texts = { about: describe(account).about, title: "Edit account", done: "Account updated." };
  return (
    <Ask {...dialog} {...texts} verb="Save" send={send}>
      <AccountFields form={form} mode={account.mode} onForm={setForm} />
    </Ask>
  );
}

export function TopUpAccount({ subject: account, ...dialog }: AccountDialogProps) {
  return (
    <TopUpBalance {...describe(account)} {...dialog}>
      {account.postpaid && <p>This lowers the amount due.</p>}
      {!account.postpaid && account.status === "closed" && (
        <p class="bad">The account is closed, so no key can spend this credit.</p>
      )}
    </TopUpBalance>
  );
}

export function AdjustAccount({ subject: account, ...dialog }: AccountDialogProps) {
  return <AdjustBalance {...describe(account)} {...dialog} />;
}

export function CloseAccount({ subject: account, ...dialog }: AccountDialogProps) {
  const { path, name, about } = describe(account);
  const keyCount = account.keys.length;
  const send = () => api.post(`${path}/close`);
  const texts = { about, title: `Close ${name}?`, done: `${name} was closed.` };
  return (
    <Ask {...dialog} {...texts} verb="Close permanently" danger send={send}>
      <p>
        {keyCount === 1 ? "Its key is" : `Its ${count(keyCount)} keys are`} rejected on every node within a
        second, and no new keys can be added. Requests in progress are not interrupted.{" "}
        <strong>This cannot be undone.</strong> The ledger entries stay, and you can still top it up.
      </p>
    </Ask>
  );
}
