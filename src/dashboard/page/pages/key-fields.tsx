import type { KeyView } from "../../../admin/key-terms/schema.ts";
import { modelChoices, useModels } from "../model-list.ts";
import { Button } from "../parts/button.tsx";
import { ComboBox } from "../parts/combo-box.tsx";
import {
  Field,
  fieldOf,
  type LabelProps,
  SelectField,
  type SelectProps,
  TextField,
} from "../parts/field.tsx";
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
  const models = useModels();
  const providers = [...new Set(models.value?.data.flatMap((model) => model.providers))];
  const scopes = [...new Set(["all", ...providers, form.provider])];
  const scopeChoices = scopes.map((name) => ({ value: name, text: name === "all" ? "all providers" : name }));
  const choicesOf = (field: KeyField) => {
    if (field === "models") return modelChoices(models.value?.data ?? []);
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

/** The chosen models, separated by commas; empty means all. A model that is no longer served stays until it is removed. */
function ModelPicker({ label, hint, state: [value, onValue], choices }: LabelProps & SelectProps) {
  const chosen = value.split(",").flatMap((name) => name.trim() || []);
  const others = choices.filter((choice) => !chosen.includes(choice.value));
  const add = (name: string) => name !== "" && onValue([...chosen, name].join(", "));
  return (
    <Field label={label} hint={hint}>
      {(id) => (
        <>
          {chosen.length > 0 && (
            <ul class="chosen line">
              {chosen.map((name) => (
                <li class="tag" key={name}>
                  <span title={name}>{name}</span>
                  <Button
                    kind="quiet"
                    icon="close"
                    label={`Remove ${name}`}
                    onClick={() => onValue(chosen.filter((each) => each !== name).join(", "))}
                  />
                </li>
              ))}
            </ul>
          )}
          <ComboBox id={id} state={["", add]} choices={others} placeholder="Add a model" />
        </>
      )}
    </Field>
  );
}
