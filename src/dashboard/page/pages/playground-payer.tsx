import { useState } from "preact/hooks";
import type { AccountList, AccountView } from "../../../admin/accounts/schema.ts";
import type { KeyList, KeyView } from "../../../admin/key-terms/schema.ts";
import { api, session, useAnswer, useLoaded } from "../api.ts";
import { nameOfKey } from "../key-name.ts";
import { accountBalance, balanceText, keyBalance } from "../parts/balance.tsx";
import { ComboField } from "../parts/combo-box.tsx";
import { type Choice, TextField } from "../parts/field.tsx";
import type { Payer } from "../playground/payer.ts";
import { query, setQuery } from "../router.ts";

/** A payer, and what decides about the routes that it can call. */
export interface KnownPayer extends Payer {
  readonly mode: KeyView["mode"];
  readonly about: string;
}

/** Length of a key's prefix, which is not secret. */
const prefixLength = 12;

/** The balance changes with every run, and a key created elsewhere is known a moment later. */
const lookEveryMs = 2_000;

const offered = 12;

interface PayerState {
  /** Null while none is chosen, or it is not known. */
  readonly payer: KnownPayer | null;
  readonly field: preact.JSX.Element;
}

/** Admins choose a key or an account. Viewers can call with a key that they have. */
export function usePayer(): PayerState {
  const chosen = useChosenPayer();
  const pasted = usePastedKey();
  return session.value?.role === "admin" ? chosen : pasted;
}

function keyChoice(key: KeyView): Choice {
  const owner = key.label === null || key.owner === null ? "" : `, ${key.owner}`;
  return { value: `key ${key.id}`, text: `${nameOfKey(key)} (${key.prefix}…${owner})` };
}

function accountChoice({ id, label }: AccountView): Choice {
  return { value: `account ${id}`, text: `Account ${label ?? id}` };
}

/** The address keeps the choice. */
function useChosenPayer(): PayerState {
  const [typed, setTyped] = useState("");
  const search = typed.trim();
  const keys = useLoaded(`payers ${search}`, () => api.get<KeyList>("/keys", { search, limit: offered }));
  const accounts = useAnswer<AccountList>("/accounts").value?.data ?? [];
  const found = (keys.value?.data ?? []).filter(({ status }) => status === "active");
  const accountId = query.value.get("account");
  const only = accounts.length === 0 && search === "" && found.length === 1 ? found[0]?.id : undefined;
  const keyId = accountId === null ? (query.value.get("key") ?? only ?? null) : null;
  const key = useLoaded(
    `payer ${keyId}`,
    async () => (keyId === null ? null : api.get<KeyView>(`/keys/${encodeURIComponent(keyId)}`)),
    lookEveryMs,
  ).value;
  const account = accounts.find(({ id }) => id === accountId);
  const known = [...found, ...(key === null || found.some(({ id }) => id === key.id) ? [] : [key])];
  const choices = [
    ...known.map(keyChoice),
    ...accounts.filter(({ status }) => status === "active").map(accountChoice),
  ];
  const payer = account ? ofAccount(account) : key?.id === keyId && key ? ofKey(key) : null;
  return {
    payer,
    field: (
      <ComboField
        label="Key or account"
        state={[
          payer === null ? "" : `${payer.kind} ${payer.name}`,
          (value) => {
            const [kind, id = null] = value.split(" ");
            setTyped("");
            setQuery({ key: kind === "key" ? id : null, account: kind === "account" ? id : null });
          },
        ]}
        choices={choices}
        placeholder="search keys and accounts"
        onTyped={setTyped}
        hint={payer?.about ?? "Its balance pays, at most 1 credit in an hour."}
      />
    ),
  };
}

function ofKey(key: KeyView): KnownPayer {
  const status = key.status === "active" ? "" : `${key.status}, `;
  return { kind: "key", name: key.id, mode: key.mode, about: status + balanceText(keyBalance(key)) };
}

function ofAccount(account: AccountView): KnownPayer {
  const about = `${balanceText(accountBalance(account))}. Charged by its key “Playground”.`;
  return { kind: "account", name: account.id, mode: account.mode, about };
}

/** Only the prefix, which is not secret, is sent to the server. */
function usePastedKey(): PayerState {
  const [secret, setSecret] = useState("");
  const prefix = secret.trim().slice(0, prefixLength);
  const isWhole = prefix.length === prefixLength;
  const found = useLoaded(
    `key ${prefix}`,
    async () => {
      if (!isWhole) return null;
      const { data } = await api.get<KeyList>("/keys", { search: prefix, limit: 5 });
      return data.find((key) => key.prefix === prefix) ?? null;
    },
    lookEveryMs,
  );
  const key = found.value?.prefix === prefix ? found.value : null;
  const payer: KnownPayer | null = key && { ...ofKey(key), kind: "secret", name: secret.trim() };
  const unknown = isWhole ? "No key has this prefix." : "Stays in this tab.";
  return {
    payer,
    field: (
      <TextField
        label="Key"
        type="password"
        state={[secret, setSecret]}
        placeholder="slu_…"
        hint={payer === null ? unknown : `${nameOfKey(key as KeyView)}: ${payer.about}`}
      />
    ),
  };
}
