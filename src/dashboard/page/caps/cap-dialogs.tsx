import { useState } from "preact/hooks";
import type { CapByValueView, CapDetailView } from "../../../admin/caps/schema.ts";
import { api, useAnswer } from "../api.ts";
import { amountOf } from "../pages/cap-fields.tsx";
import { Ask } from "../parts/ask.tsx";
import { CapUse, capText } from "../parts/cap-bars.tsx";
import { Dialog } from "../parts/dialog.tsx";
import type { DialogProps } from "../parts/dialogs.tsx";
import { TextField } from "../parts/field.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { Table } from "../parts/table.tsx";
import {
  emptyCap,
  formOfCap,
  isEachOf,
  newCapOf,
  TermFields,
  termsOf,
  valuesOf,
  WhomFields,
} from "./cap-form.tsx";
import { whomText } from "./cap-text.ts";

type CapDialogProps = DialogProps<CapByValueView>;

export function AddCap({ onClose }: DialogProps<null>) {
  const [form, setForm] = useState(emptyCap);
  const send = () => api.post("/caps", newCapOf(form));
  const mode = form.mode === "credit" ? "credit" : "token_budget";
  return (
    <Ask title="New cap" verb="Add cap" done="Cap added." send={send} onClose={onClose}>
      <WhomFields form={form} onForm={setForm} />
      <TermFields form={form} onForm={setForm} mode={mode} isEach={isEachOf(form)} />
    </Ask>
  );
}

function about(cap: CapByValueView): string {
  return `${whomText(cap)} · ${capText(cap, cap.mode)}`;
}

export function EditCap({ subject: cap, ...dialog }: CapDialogProps) {
  const [form, setForm] = useState(() => formOfCap(cap));
  const isEach = cap.each !== null;
  const send = () =>
    api.patch(`/caps/${cap.id}`, { ...termsOf(form, cap.mode), ...(isEach && valuesOf(form)) });
  return (
    <Ask {...dialog} about={about(cap)} title="Edit cap" verb="Save" done="Cap updated." send={send}>
      <TermFields form={form} onForm={setForm} mode={cap.mode} isEach={isEach} />
    </Ask>
  );
}

export function RaiseCap({ subject: cap, ...dialog }: CapDialogProps) {
  const [amount, value, note] = [useState(""), useState(""), useState("")];
  const send = () =>
    api.post(`/caps/${cap.id}/raise`, {
      amount: amountOf(amount[0], cap.mode),
      note: note[0],
      ...(value[0].trim() !== "" && { value: value[0].trim() }),
    });
  const unit = cap.mode === "credit" ? "credits" : "tokens";
  return (
    <Ask {...dialog} about={about(cap)} title="Raise cap" verb="Raise" done="Cap raised." send={send}>
      <p>For the current {cap.period} only.</p>
      <TextField label={`By how many ${unit}`} state={amount} inputMode="decimal" required />
      {cap.each !== null && (
        <TextField label={`Only for this ${cap.each}`} state={value} placeholder="all of them" />
      )}
      <TextField label="Reason" state={note} placeholder="For the audit log" required />
    </Ask>
  );
}

export function RemoveCap({ subject: cap, ...dialog }: CapDialogProps) {
  const send = () => api.remove(`/caps/${cap.id}`);
  const texts = { title: "Remove this cap?", verb: "Remove", done: "Cap removed." };
  return (
    <Ask {...dialog} {...texts} about={about(cap)} danger send={send}>
      <p>It no longer limits anything. If you add it again, it counts this {cap.period} from the start.</p>
    </Ask>
  );
}

/** The values that have used the most, and what the cap does not count. */
export function ShowCap({ subject: cap, onClose }: CapDialogProps) {
  const shown = useAnswer<CapDetailView>(`/caps/${cap.id}`, 5000);
  return (
    <Dialog title={whomText(cap)} onClose={onClose}>
      <div class="body stack">
        <p class="muted">
          {capText(cap, cap.mode)} · <code>{cap.id}</code>
        </p>
        <LoadedContent loaded={shown}>
          {({ used_by, notes }) => (
            <>
              <Table
                rows={used_by}
                keyOf={({ value }) => value ?? ""}
                columns={[
                  { name: "Value", class: "lead clip", cell: ({ value }) => value ?? "without the label" },
                  { name: "Used", class: "number", cell: (value) => <CapUse cap={value} mode={cap.mode} /> },
                ]}
                empty={<p>Nothing has been spent in this {cap.period} yet.</p>}
              />
              {notes.map((note) => (
                <p key={note} class="muted">
                  {note}
                </p>
              ))}
            </>
          )}
        </LoadedContent>
      </div>
    </Dialog>
  );
}
