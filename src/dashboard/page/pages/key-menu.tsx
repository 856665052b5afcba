import { useState } from "preact/hooks";
import type { KeyView } from "../../../admin/views.ts";
import { type ApiError, api } from "../api.ts";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { tell } from "../parts/notices.tsx";
import { ExtendKey, MoveKey } from "./key-account-dialogs.tsx";
import { AdjustKey, EditKey, RevokeKey, RotateKey, TopUpKey } from "./key-dialogs.tsx";

const dialogs = {
  topup: TopUpKey,
  adjust: AdjustKey,
  edit: EditKey,
  extend: ExtendKey,
  move: MoveKey,
  rotate: RotateKey,
  revoke: RevokeKey,
} as const;

type DialogName = keyof typeof dialogs;

/** Everything that can be done to a key, as far as its status allows it. */
export function KeyMenu({ of: key, onChange }: { of: KeyView; onChange: () => void }) {
  const [open, setOpen] = useState<DialogName | null>(null);
  const ask = (name: DialogName) => () => setOpen(name);
  const change = (action: "enable" | "disable" | "suspend", told: string) => async () => {
    try {
      await api.post(`/keys/${key.id}/${action}`);
      tell(told);
    } catch (cause) {
      tell((cause as ApiError).message, "bad");
    }
    onChange();
  };

  const Shown = open === null ? null : dialogs[open];
  const held = key.status === "disabled" || key.status === "suspended";
  if (key.status === "revoked") return null;
  return (
    <ForAdmins>
      <Menu label={`Actions for ${key.label ?? key.prefix}`}>
        {key.mode === "credit" && <MenuItem onClick={ask("topup")}>Top up…</MenuItem>}
        {key.mode === "credit" && <MenuItem onClick={ask("adjust")}>Adjust credit…</MenuItem>}
        <MenuItem onClick={ask("edit")}>Edit…</MenuItem>
        {key.caps.length > 0 && <MenuItem onClick={ask("extend")}>Raise a cap once…</MenuItem>}
        <MenuItem onClick={ask("move")}>Move to an account…</MenuItem>
        <MenuItem onClick={ask("rotate")}>Rotate secret…</MenuItem>
        <hr />
        {held && <MenuItem onClick={change("enable", "The key is active again.")}>Enable</MenuItem>}
        {!held && <MenuItem onClick={change("disable", "The key is disabled.")}>Disable</MenuItem>}
        {!held && <MenuItem onClick={change("suspend", "The key is suspended.")}>Suspend</MenuItem>}
        <hr />
        <MenuItem danger onClick={ask("revoke")}>
          Revoke…
        </MenuItem>
      </Menu>
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
    </ForAdmins>
  );
}
