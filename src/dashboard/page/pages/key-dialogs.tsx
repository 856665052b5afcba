import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { AccountList, AccountView } from "../../../admin/accounts/schema.ts";
import type { IssuedKeyView, KeyView } from "../../../admin/key-terms/schema.ts";
import { api, useAnswer } from "../api.ts";
import { nameOfKey } from "../key-name.ts";
import { Ask } from "../parts/ask.tsx";
import { balanceText, keyBalance } from "../parts/balance.tsx";
import type { DialogProps } from "../parts/dialogs.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Secret } from "../parts/secret.tsx";
import { hrefOf } from "../router.ts";
import { BilledField, ModeField } from "./account-fields.tsx";
import { CapFields, type CapForm, capForms, capsOf, keyTexts } from "./cap-fields.tsx";
import { AdjustBalance, TopUpBalance } from "./credit-dialogs.tsx";
import { KeyFields } from "./key-fields.tsx";
import { creditsOf, emptyKeyForm, formOf, hoursOf, isShared, requestOf } from "./key-form.ts";

export type KeyDialogProps = DialogProps<KeyView>;

export function aboutKey(key: KeyView): ComponentChildren {
  return (
    <>
      {nameOfKey(key)} · <code>{key.prefix}…</code> · {balanceText(keyBalance(key))}
    </>
  );
}

export function KeyLink(key: Pick<KeyView, "id" | "label" | "owner" | "prefix">) {
  return (
    <>
      <a href={hrefOf(`keys/${key.id}`)}>{nameOfKey(key)}</a>
      <code>{key.prefix}…</code>
    </>
  );
}

export function TopUpKey({ subject: key, ...dialog }: KeyDialogProps) {
  return (
    <TopUpBalance path={`/keys/${key.id}`} name={nameOfKey(key)} about={aboutKey(key)} {...dialog}>
      {isShared(key) && <p>The credit is added to the key's account, for all of its keys.</p>}
    </TopUpBalance>
  );
}

export function AdjustKey({ subject: key, ...dialog }: KeyDialogProps) {
  const path = `/keys/${key.id}`;
  return <AdjustBalance path={path} name={nameOfKey(key)} about={aboutKey(key)} {...dialog} />;
}

export function EditKey({ subject: key, ...dialog }: KeyDialogProps) {
  const [form, setForm] = useState(() => formOf(key));
  const caps = useState<readonly CapForm[]>(() => capForms(key.caps));
  const shared = isShared(key);
  const send = async () => {
    const changes = requestOf(form, key.mode, shared);
    await api.patch(`/keys/${key.id}`, { ...changes, caps: capsOf(caps[0], key.mode) });
  };
  const texts = { about: aboutKey(key), title: "Edit key", done: "Key updated." };
  return (
    <Ask {...dialog} {...texts} verb="Save" send={send}>
      <KeyFields form={form} mode={key.mode} isShared={shared} onForm={setForm} />
      <CapFields {...keyTexts} state={caps} mode={key.mode} />
    </Ask>
  );
}

export function RotateKey({ subject: key, onClose }: KeyDialogProps) {
  const hours = useState("0");
  const [issued, setIssued] = useState<IssuedKeyView | null>(null);
  const send = async () => {
    const grace = Math.round(hoursOf(hours[0]) * 3600);
    const made = await api.post<IssuedKeyView>(`/keys/${key.id}/rotate`, { grace_seconds: grace });
    setIssued(made);
  };
  if (issued) {
    return <Secret title="New secret" issued={issued} onClose={onClose} />;
  }
  return (
    <Ask about={aboutKey(key)} title="Rotate secret" verb="Rotate" stays onClose={onClose} send={send}>
      <p>The key gets a new secret. Balance, label and limits stay.</p>
      <TextField label="Hours until the old secret stops working" state={hours} inputMode="decimal" />
    </Ask>
  );
}

const enablesAgain = "You can enable it again; its balance stays.";

/** The actions that stop a key, and their consequences. */
const stops = {
  Disable: { verb: "Disable", done: "disabled", means: enablesAgain },
  Suspend: {
    verb: "Suspend",
    done: "suspended",
    means: `Callers get 401: the key is suspended. ${enablesAgain}`,
  },
  Revoke: {
    verb: "Revoke permanently",
    done: "revoked",
    means: (
      <>
        <strong>This cannot be undone.</strong> To stop a key for a while, disable it instead.
      </>
    ),
  },
};

/** A dialog that names the key in its title, and states the effect. */
export function stopKey(action: keyof typeof stops) {
  const { verb, done, means } = stops[action];
  return ({ subject: key, ...dialog }: KeyDialogProps) => {
    const name = nameOfKey(key);
    const send = () => api.post(`/keys/${key.id}/${action.toLowerCase()}`);
    const texts = { about: aboutKey(key), title: `${action} ${name}?`, verb, done: `${name} is ${done}.` };
    return (
      <Ask {...dialog} {...texts} danger send={send}>
        <p>
          Every new request with <code>{key.prefix}…</code> is rejected, on every node, within a second.
          Requests in progress are not interrupted. {means}
        </p>
      </Ask>
    );
  };
}

/** Creates a key on the given account, unless another one is chosen. */
export function CreateKey({ subject: initialAccount, onClose }: DialogProps<AccountView | null>) {
  const loaded = useAnswer<AccountList>("/accounts");
  const accounts = loaded.value?.data ?? [];
  const [account, setAccount] = useState(initialAccount);
  const ownMode = useState<KeyView["mode"]>("credit");
  const open = useState(false);
  const credit = useState("5");
  const [form, setForm] = useState(emptyKeyForm);
  const caps = useState<readonly CapForm[]>(() => capForms(initialAccount?.key_caps ?? []));
  const [issued, setIssued] = useState<IssuedKeyView | null>(null);
  const mode = account?.mode ?? ownMode[0];
  const [isOpen] = open;

  const choose = (id: string) => {
    const chosen = accounts.find((one) => one.id === id) ?? null;
    setAccount(chosen);
    caps[1](capForms(chosen?.key_caps ?? []));
  };
  const send = async () => {
    const start = !isOpen && credit[0].trim() !== "" ? { credit: creditsOf(credit[0]) } : {};
    const payer = account
      ? { account: account.id }
      : { mode, ...(mode === "credit" ? { postpaid: isOpen, ...start } : {}) };
    const attributes = requestOf(form, mode, account !== null);
    const made = await api.post<IssuedKeyView>("/keys", {
      ...payer,
      ...attributes,
      caps: capsOf(caps[0], mode),
    });
    setIssued(made);
  };

  // The accounts decide on the first fields, so the form opens when they are here.
  if (loaded.value === null && loaded.error === null) return null;
  if (issued) {
    return <Secret title="New key" issued={issued} onClose={onClose} />;
  }
  const choices = accounts
    .filter(({ status }) => status === "active")
    .map(({ id, label }) => ({ value: id, text: label ?? id }));
  return (
    <Ask title="New key" verb="Create key" stays onClose={onClose} send={send}>
      {choices.length > 0 && (
        <SelectField
          label="Account"
          state={[account?.id ?? "", choose]}
          choices={[{ value: "", text: "its own account" }, ...choices]}
        />
      )}
      {account === null && <ModeField label="Billing mode" state={ownMode} />}
      {account === null && mode === "credit" && <BilledField state={open} />}
      {account === null && mode === "credit" && !isOpen && (
        <TextField label="Starting credit" state={credit} inputMode="decimal" />
      )}
      <KeyFields form={form} mode={mode} isShared={account !== null} onForm={setForm} />
      <CapFields {...keyTexts} state={caps} mode={mode} />
    </Ask>
  );
}
