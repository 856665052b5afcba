import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export interface DialogProps<Of> {
  readonly of: Of;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

type DialogOf<Of> = (props: DialogProps<Of>) => ComponentChildren;

/** What opens each of these dialogs, and the one that is open. */
export function useDialogs<Of, Name extends string>(
  dialogs: Readonly<Record<Name, DialogOf<Of>>>,
  of: Of,
  onChange: () => void,
): readonly [ask: (name: Name) => () => void, dialog: ComponentChildren] {
  const [open, setOpen] = useState<Name | null>(null);
  const Shown: DialogOf<Of> | null = open === null ? null : dialogs[open];
  const onDone = () => {
    setOpen(null);
    onChange();
  };
  const dialog = Shown && <Shown of={of} onClose={() => setOpen(null)} onDone={onDone} />;
  return [(name) => () => setOpen(name), dialog];
}
