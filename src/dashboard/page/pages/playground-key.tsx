import type { KeyList, KeyView } from "../../../admin/keys/schema.ts";
import { api, useLoaded } from "../api.ts";
import { balanceText, keyBalance } from "../parts/balance.tsx";
import { fieldOf, SelectField, TextField } from "../parts/field.tsx";
import { knownSecrets } from "../secrets.ts";

export interface ChosenKey {
  readonly secret: string;
  readonly pasted: boolean;
}

export function firstChoice(): ChosenKey {
  const known = knownSecrets.value[0];
  return known ? { secret: known.secret, pasted: false } : { secret: "", pasted: true };
}

/** As much of a key as is no secret. */
const prefixLength = 12;

/** The balance changes with every run, and a key created elsewhere is known a moment later. */
const lookEveryMs = 2_000;

/** The key that a secret belongs to; null if none matches. Only the prefix, which is not secret, is sent to the server. */
export function useKeyOf(secret: string): KeyView | null {
  const prefix = secret.trim().slice(0, prefixLength);
  const find = async () => {
    if (prefix.length < prefixLength) return null;
    const { data } = await api.get<KeyList>("/keys", { search: prefix, limit: 5 });
    return data.find((key) => key.prefix === prefix) ?? null;
  };
  const found = useLoaded(`key ${prefix}`, find, lookEveryMs);
  return found.value?.prefix === prefix ? found.value : null;
}

function hintFor(secret: string, key: KeyView | null): string {
  if (key === null) {
    return secret.trim().length < prefixLength
      ? "Stays in this tab. Keys created here are listed by name."
      : "No key has this prefix.";
  }
  const status = key.status === "active" ? "" : `, ${key.status}`;
  return `${key.label ?? key.prefix}${status}: ${balanceText(keyBalance(key))}`;
}

interface KeyChoiceProps {
  readonly chosen: ChosenKey;
  readonly apiKey: KeyView | null;
  readonly onChoose: (chosen: ChosenKey) => void;
}

/** Keys made in this tab by name, or any other by its secret: the server itself could not tell them. */
export function KeyChoice({ chosen, apiKey, onChoose }: KeyChoiceProps) {
  const known = knownSecrets.value;
  const choices = [
    ...known.map((each) => ({ value: each.secret, text: each.name })),
    { value: "", text: "Paste a key…" },
  ];
  return (
    <>
      {known.length > 0 && (
        <SelectField
          label="Key"
          state={[
            chosen.pasted ? "" : chosen.secret,
            (secret) => onChoose({ secret, pasted: secret === "" }),
          ]}
          choices={choices}
          hint={chosen.pasted ? undefined : hintFor(chosen.secret, apiKey)}
        />
      )}
      {chosen.pasted && (
        <TextField
          label={known.length > 0 ? "Secret" : "Key"}
          type="password"
          state={fieldOf(chosen, onChoose, "secret")}
          placeholder="slu_…"
          hint={hintFor(chosen.secret, apiKey)}
        />
      )}
    </>
  );
}
