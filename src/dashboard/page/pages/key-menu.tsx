import { useRef, useState } from "preact/hooks";
import type { KeyView } from "../../../admin/views.ts";
import { type ApiError, api } from "../api.ts";
import { Icon } from "../parts/icon.tsx";
import { tell } from "../parts/notices.tsx";
import { AdjustKey, EditKey, RevokeKey, RotateKey, TopUpKey } from "./key-dialogs.tsx";

const dialogs = {
  topup: TopUpKey,
  adjust: AdjustKey,
  edit: EditKey,
  rotate: RotateKey,
  revoke: RevokeKey,
} as const;

type DialogName = keyof typeof dialogs;

/** Everything that can be done to a key, as far as its status allows it. */
export function KeyMenu({ of: key, onChange }: { of: KeyView; onChange: () => void }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState<DialogName | null>(null);
  const fold = () => menu.current?.removeAttribute("open");

  const ask = (name: DialogName) => () => {
    fold();
    setOpen(name);
  };
  const change = (action: "enable" | "disable" | "suspend", told: string) => async () => {
    fold();
    try {
      await api.post(`/keys/${key.id}/${action}`);
      tell(told);
    } catch (cause) {
      tell((cause as ApiError).message, "bad");
    }
    onChange();
  };
  const leave = (event: FocusEvent) => {
    const next = event.relatedTarget;
    if (!(next instanceof Node) || !menu.current?.contains(next)) fold();
  };

  const Shown = open === null ? null : dialogs[open];
  const held = key.status === "disabled" || key.status === "suspended";
  if (key.status === "revoked") return null;
  return (
    <>
      <details ref={menu} class="menu" onFocusOut={leave}>
        <summary aria-label={`Actions for ${key.label ?? key.prefix}`}>
          <Icon name="more" />
        </summary>
        <div role="menu" tabIndex={-1}>
          {key.mode === "credit" && <MenuItem onClick={ask("topup")}>Top up…</MenuItem>}
          {key.mode === "credit" && <MenuItem onClick={ask("adjust")}>Adjust credit…</MenuItem>}
          <MenuItem onClick={ask("edit")}>Edit…</MenuItem>
          <MenuItem onClick={ask("rotate")}>Rotate secret…</MenuItem>
          <hr />
          {held && <MenuItem onClick={change("enable", "The key is active again.")}>Enable</MenuItem>}
          {!held && <MenuItem onClick={change("disable", "The key is disabled.")}>Disable</MenuItem>}
          {!held && <MenuItem onClick={change("suspend", "The key is suspended.")}>Suspend</MenuItem>}
          <hr />
          <MenuItem danger onClick={ask("revoke")}>
            Revoke…
          </MenuItem>
        </div>
      </details>
      {Shown && (
        <Shown
          of={key}
          onClose={() => setOpen(null)}
          onDone={() => {
            setOpen(null);
            onChange();
          }}
        />
      )}
    </>
  );
}

function MenuItem(props: { children: string; danger?: boolean; onClick: () => void }) {
  return (
    <button type="button" role="menuitem" class={props.danger ? "danger" : ""} onClick={props.onClick}>
      {props.children}
    </button>
  );
}
