import type { KeyView } from "../../../admin/views.ts";
import { type ApiError, api } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { useDialogs } from "../parts/dialogs.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { Menu, MenuItem } from "../parts/menu.tsx";
import { tell } from "../parts/notices.tsx";
import { ExtendKey, MoveKey } from "./key-account-dialogs.tsx";
import {
  AdjustKey,
  DisableKey,
  EditKey,
  nameOfKey,
  RevokeKey,
  RotateKey,
  SuspendKey,
  TopUpKey,
} from "./key-dialogs.tsx";

const dialogs = {
  topup: TopUpKey,
  adjust: AdjustKey,
  edit: EditKey,
  extend: ExtendKey,
  move: MoveKey,
  rotate: RotateKey,
  disable: DisableKey,
  suspend: SuspendKey,
  revoke: RevokeKey,
} as const;

interface KeyMenuProps {
  readonly of: KeyView;
  /** What is done most often gets a button. */
  readonly inSight?: boolean;
  readonly onChange: () => void;
}

/** Everything that can be done to a key, as far as its status allows it. */
export function KeyMenu({ of: key, inSight = false, onChange }: KeyMenuProps) {
  const [ask, dialog] = useDialogs(dialogs, key, onChange);
  const enable = async () => {
    try {
      await api.post(`/keys/${key.id}/enable`);
      tell(`${nameOfKey(key)} is active again.`);
    } catch (cause) {
      tell((cause as ApiError).message, "bad");
    }
    onChange();
  };

  const held = key.status === "disabled" || key.status === "suspended";
  const isClosed = key.account_status === "closed";
  if (key.status === "revoked") return null;
  return (
    <ForAdmins>
      {inSight && key.mode === "credit" && (
        <Button icon="plus" onClick={ask("topup")}>
          Top up
        </Button>
      )}
      {inSight && (
        <Button icon="exchanges" onClick={ask("rotate")}>
          Rotate
        </Button>
      )}
      <Menu label={`Actions for ${nameOfKey(key)}`}>
        {key.mode === "credit" && <MenuItem onClick={ask("topup")}>Top up…</MenuItem>}
        {key.mode === "credit" && <MenuItem onClick={ask("adjust")}>Adjust credit…</MenuItem>}
        <MenuItem onClick={ask("edit")}>Edit…</MenuItem>
        {key.caps.length > 0 && <MenuItem onClick={ask("extend")}>Raise a cap once…</MenuItem>}
        <MenuItem onClick={ask("move")}>Move to an account…</MenuItem>
        <MenuItem onClick={ask("rotate")}>Rotate secret…</MenuItem>
        {!(held && isClosed) && <hr />}
        {held && !isClosed && <MenuItem onClick={() => void enable()}>Enable</MenuItem>}
        {!held && <MenuItem onClick={ask("disable")}>Disable…</MenuItem>}
        {!held && <MenuItem onClick={ask("suspend")}>Suspend…</MenuItem>}
        <hr />
        <MenuItem danger onClick={ask("revoke")}>
          Revoke…
        </MenuItem>
      </Menu>
      {dialog}
    </ForAdmins>
  );
}
