import type { KeyView } from "../../../admin/keys/schema.ts";
import type { ModelView } from "../../../admin/models/schema.ts";
import type { Page } from "../../../admin/routes/shapes.ts";
import { useAnswer } from "../api.ts";
import { fieldOf, type LabelProps, SelectField, type SelectProps, TextField } from "../parts/field.tsx";
import {
  budgetPeriods,
  contentChoices,
  fieldRows,
  fieldTexts,
  hasField,
  type KeyField,
  type KeyForm,
  kindOf,
  toolsChoices,
  userHeaderChoices,
} from "./key-form.ts";

interface KeyFieldsProps {
  readonly form: KeyForm;
  readonly mode: KeyView["mode"];
  /** The key's account is shared, and has the budget. */
  readonly isShared: boolean;
  readonly onForm: (form: KeyForm) => void;
}

export function KeyFields({ form, mode, isShared, onForm }: KeyFieldsProps) {
  const models = useAnswer<Page<ModelView>>("/models");
  const providers = [...new Set(models.value?.data.map((model) => model.provider))];
  const scopes = [...new Set(["all", ...providers, form.provider])];
  const scopeChoices = scopes.map((name) => ({ value: name, text: name === "all" ? "all providers" : name }));
  const choicesOf = (field: KeyField) => {
    if (field === "models") return (models.value?.data ?? []).map(({ id }) => ({ value: id, text: id }));
    if (field === "content") return contentChoices;
    if (field === "tools") return toolsChoices;
    if (field === "user-headers") return userHeaderChoices;
    return field === "period" ? budgetPeriods : scopeChoices;
  };
  const inputs = (row: readonly KeyField[]) =>
    row.map((field) => (
      <KeyInput key={field} field={field} state={fieldOf(form, onForm, field)} choices={choicesOf(field)} />
    ));
  return (
    <>
      {fieldRows
        .filter((row) => row.every((field) => hasField(field, mode, isShared)))
        .map((row) =>
          row.length === 1 ? (
            inputs(row)
          ) : (
            <div key={row[0]} class="pair">
              {inputs(row)}
            </div>
          ),
        )}
    </>
  );
}

function KeyInput({ field, state, choices }: SelectProps & { field: KeyField }) {
  const { subject: _, ...texts } = fieldTexts[field];
  switch (kindOf(field)) {
    case "provider":
    case "period":
    case "content":
    case "flag":
      return <SelectField {...texts} state={state} choices={choices} />;
    case "models":
      return <ModelPicker {...texts} state={state} choices={choices} />;
    case "moment":
      return <TextField {...texts} state={state} type="date" />;
    case "count":
    case "positive":
      return <TextField {...texts} state={state} inputMode="numeric" />;
    default:
      return <TextField {...texts} state={state} />;
  }
}

/** Models to tick, with commas between them; none means all. One that is no longer served stays, until it is unticked. */
function ModelPicker({ label, hint, state: [value, onValue], choices }: LabelProps & SelectProps) {
  const chosen = value.split(",").flatMap((name) => name.trim() || []);
  const names = [...new Set([...choices.map((choice) => choice.value), ...chosen])];
  const toggle = (name: string) =>
    onValue((chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]).join(", "));
  return (
    <fieldset class="picker">
      <legend>{label}</legend>
      <div class="line">
        {names.map((name) => (
          <label key={name}>
            <input type="checkbox" checked={chosen.includes(name)} onChange={() => toggle(name)} /> {name}
          </label>
        ))}
      </div>
      {hint && <small class="muted">{hint}</small>}
    </fieldset>
  );
}
