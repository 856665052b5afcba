import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface DialogProps<Subject> {
  readonly subject: Subject;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

type DialogComponent<Subject> = (props: DialogProps<Subject>) => ComponentChildren;

/** Returns a function that opens a dialog by name, and the open dialog. */
export function useDialogs<Subject, Name extends string>(
  dialogs: Readonly<Record<Name, DialogComponent<Subject>>>,
  subject: Subject,
  onChange: () => void,
): readonly [ask: (name: Name) => () => void, dialog: ComponentChildren] {
  const [open, setOpen] = useState<Name | null>(null);
  const OpenDialog: DialogComponent<Subject> | null = open === null ? null : dialogs[open];
  const onDone = () => {
    setOpen(null);
    onChange();
  };
  const dialog = OpenDialog && <OpenDialog subject={subject} onClose={() => setOpen(null)} onDone={onDone} />;
  return [(name) => () => setOpen(name), dialog];
}
