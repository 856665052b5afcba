import type { KeyView } from "../../../admin/views.ts";
import { SelectField, TextField } from "../parts/field.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { knownSecrets } from "../secrets.ts";

export interface ChosenKey {
  readonly secret: string;
  readonly mode: KeyView["mode"];
  readonly pasted: boolean;
}

export function firstChoice(): ChosenKey {
  const known = knownSecrets.value[0];
  return known
    ? { secret: known.secret, mode: known.mode, pasted: false }
    : { secret: "", mode: "credit", pasted: true };
}

interface KeyChoiceProps {
  readonly chosen: ChosenKey;
  readonly onChoose: (chosen: ChosenKey) => void;
}

/** Keys made in this tab by name, or any other by its secret: the server itself could not tell them. */
export function KeyChoice({ chosen, onChoose }: KeyChoiceProps) {
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
          value={chosen.pasted ? "" : chosen.secret}
          choices={choices}
          onValue={(secret) => {
            const mode = known.find((each) => each.secret === secret)?.mode ?? "credit";
            onChoose({ secret, mode, pasted: secret === "" });
          }}
        />
      )}
      {chosen.pasted && (
        <>
          <TextField
            label={known.length > 0 ? "Secret" : "Key"}
            secret
            value={chosen.secret}
            onValue={(secret) => onChoose({ ...chosen, secret })}
            placeholder="slu_…"
            hint="Stays in this tab. Keys made here are offered by name."
          />
          <Segmented
            label="Mode of the key"
            value={chosen.mode}
            choices={[
              { value: "credit", text: "Credit" },
              { value: "token_budget", text: "Token budget" },
            ]}
            onValue={(mode) => onChoose({ ...chosen, mode: mode === "credit" ? "credit" : "token_budget" })}
          />
        </>
      )}
    </>
  );
}
