import type { KeyView } from "../../../admin/views.ts";
import { Button } from "../parts/button.tsx";
import { fieldOf, SelectField, type State, TextField } from "../parts/field.tsx";
import { type CapForm, emptyCap } from "./cap-form.ts";
import { budgetPeriods } from "./key-form.ts";

interface CapFieldsProps {
  readonly title: string;
  readonly hint: string;
  readonly of: State<readonly CapForm[]>;
  readonly mode: KeyView["mode"];
}

const periods = budgetPeriods.filter(({ value }) => value !== "none");

/** Any number of caps: how much, in which time, for which models. */
export function CapFields({ title, hint, of: [caps, onCaps], mode }: CapFieldsProps) {
  const isCredit = mode === "credit";
  return (
    <fieldset class="cap-fields stack">
      <legend>{title}</legend>
      <p class="hint">{hint}</p>
      {caps.map((cap, place) => {
        const field = (name: keyof CapForm) => fieldOf(cap, (next) => onCaps(caps.with(place, next)), name);
        return (
          <div key={place} class="cap-row">
            <TextField
              label={isCredit ? "Credits" : "Tokens"}
              of={field("limit")}
              inputMode={isCredit ? "decimal" : "numeric"}
            />
            <SelectField label="Time" of={field("period")} choices={periods} />
            <TextField label="Models" of={field("models")} placeholder="all, or claude-*" />
            <Button
              kind="quiet"
              icon="close"
              label={`Remove cap ${place + 1}`}
              onClick={() => onCaps(caps.toSpliced(place, 1))}
            />
          </div>
        );
      })}
      <Button icon="plus" onClick={() => onCaps([...caps, emptyCap])}>
        Add a cap
      </Button>
    </fieldset>
  );
}

export const ofOneKey = { title: "Caps", hint: "The most that this key may take. All of them hold at once." };
