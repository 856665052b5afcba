import type { KeyView, ModelView, Page } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { type Choice, Field, SelectField, TextField } from "../parts/field.tsx";
import { ModelPicker } from "../parts/model-picker.tsx";
import {
  budgetPeriods,
  fieldRows,
  fieldTexts,
  hasField,
  type KeyField,
  type KeyForm,
  kindOf,
} from "./key-form.ts";

interface KeyFieldsProps {
  readonly form: KeyForm;
  readonly mode: KeyView["mode"];
  /** Its account is not its own, and has the budget. */
  readonly isShared: boolean;
  readonly onForm: (form: KeyForm) => void;
}

export function KeyFields({ form, mode, isShared, onForm }: KeyFieldsProps) {
  const models = useLoaded("models", () => api.get<Page<ModelView>>("/models"));
  const providers = [...new Set(models.value?.data.map((model) => model.provider))];
  const scopes = [...new Set(["all", ...providers, form.scope])];
  const scopeChoices = scopes.map((name) => ({ value: name, text: name === "all" ? "all providers" : name }));
  const choicesOf = (field: KeyField) => {
    if (field === "models") return (models.value?.data ?? []).map(({ id }) => ({ value: id, text: id }));
    return field === "period" ? budgetPeriods : scopeChoices;
  };
  const inputs = (row: readonly KeyField[]) =>
    row.map((field) => (
      <KeyInput
        key={field}
        field={field}
        value={form[field]}
        choices={choicesOf(field)}
        onValue={(value) => onForm({ ...form, [field]: value })}
      />
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

interface KeyInputProps {
  readonly field: KeyField;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onValue: (value: string) => void;
}

function KeyInput({ field, value, choices, onValue }: KeyInputProps) {
  const { subject: _, ...texts } = fieldTexts[field];
  switch (kindOf(field)) {
    case "provider":
    case "period":
      return <SelectField {...texts} value={value} choices={choices} onValue={onValue} />;
    case "models":
      return <ModelPicker {...texts} value={value} choices={choices} onValue={onValue} />;
    case "moment":
      return (
        <Field {...texts}>
          {(id) => (
            <input
              id={id}
              type="date"
              value={value}
              onInput={(event) => onValue(event.currentTarget.value)}
            />
          )}
        </Field>
      );
    case "count":
    case "positive":
      return <TextField {...texts} value={value} onValue={onValue} inputMode="numeric" />;
    default:
      return <TextField {...texts} value={value} onValue={onValue} />;
  }
}
