import { useState } from "preact/hooks";
import type { ConfigChangeView, ConfigCheckView, ConfigReloadView } from "../../../admin/config/schema.ts";
import { plural } from "../../../base/text/plural.ts";
import { api, useAnswer } from "../api.ts";
import { Ask } from "../parts/ask.tsx";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { useAsked } from "../parts/dialogs.tsx";
import { ForAdmins } from "../parts/for-admins.tsx";
import { LoadedContent } from "../parts/states.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Points, useWarnings } from "../parts/warnings.tsx";

const changeTones = { added: "good", changed: "info", removed: "warn" } as const;

function written(value: string | null) {
  return value === null ? "–" : <code>{value}</code>;
}

const changeColumns: readonly Column<ConfigChangeView>[] = [
  {
    name: "What",
    class: "lead",
    cell: ({ where, needs_restart }) => (
      <>
        {where} {needs_restart && <Badge tone="warn">needs a restart</Badge>}
      </>
    ),
  },
  { name: "Change", cell: ({ change }) => <Badge tone={changeTones[change]}>{change}</Badge> },
  { name: "Running", class: "written", cell: ({ before }) => written(before) },
  { name: "On disk", class: "written", cell: ({ after }) => written(after) },
];

function nameOf(file: string | null): string {
  return file ?? "The built-in configuration";
}

function CheckResult({ check: { file, ok, problems, warnings, changes } }: { check: ConfigCheckView }) {
  const runningWarnings = useWarnings();
  const state = !ok
    ? "has problems and cannot be applied. The running configuration is unchanged."
    : changes.length === 0
      ? "matches the running configuration."
      : `differs from the running configuration: ${plural(changes.length, "change")}.`;
  // `where` already has the line, if it is known.
  const problemTexts = problems.map(({ where, message }) =>
    where === "" ? message : `${where}: ${message}`,
  );
  return (
    <>
      <p class="pad">
        <code>{nameOf(file)}</code> {state}
      </p>
      <Points tone="bad" label="Problems in the file" points={problemTexts} />
      <Points
        label="Warnings about the file"
        points={warnings.filter((warning) => !runningWarnings.includes(warning))}
      />
      {changes.length > 0 && <Table rows={changes} columns={changeColumns} keyOf={({ where }) => where} />}
    </>
  );
}

interface ReloadProps {
  readonly check: ConfigCheckView;
  readonly onClose: () => void;
  readonly onReloaded: (reloaded: ConfigReloadView) => void;
}

function Reload({ check: { file, digest, changes, suspends_keys }, onClose, onReloaded }: ReloadProps) {
  const restarts = changes.filter(({ needs_restart }) => needs_restart).length;
  return (
    <Ask
      title="Apply the configuration on disk?"
      about={nameOf(file)}
      verb="Reload"
      onClose={onClose}
      send={async () =>
        onReloaded(
          await api.post<ConfigReloadView>("/config/reload", {
            ...(digest === null ? {} : { digest }),
            suspend_keys: suspends_keys > 0,
          }),
        )
      }
    >
      <p>
        {changes.length === 0
          ? "No changes in the file. Applying it also reads secrets from files again."
          : `It has ${plural(changes.length, "change")}. Requests in progress keep the old configuration.`}
      </p>
      {restarts > 0 && (
        <p>
          {restarts} of them {restarts === 1 ? "waits" : "wait"} for a restart.
        </p>
      )}
      {suspends_keys > 0 && (
        <p>
          <strong>{plural(suspends_keys, "key")} will be suspended</strong>, because the owners could no
          longer sign in.
        </p>
      )}
    </Ask>
  );
}

function ReloadResult({
  result: { file, changes, needs_restart, new_secrets },
}: {
  result: ConfigReloadView;
}) {
  return (
    <>
      <p class="pad" role="status">
        <Badge tone="good">reloaded</Badge> {nameOf(file)}, {plural(changes.length, "change")}
        {new_secrets.map((secret) => `, new secret in ${secret}`)}
      </p>
      <Points label="Needs a restart" points={needs_restart} />
    </>
  );
}

/** The differences of the file on disk, and a button to apply them. */
export function ConfigOnDisk() {
  const check = useAnswer<ConfigCheckView>("/config/check");
  const [asking, setAsking] = useState<ConfigCheckView | null>(null);
  const [reloaded, setReloaded] = useState<ConfigReloadView | null>(null);
  const { value } = check;
  useAsked("reload", () => setAsking(value), value?.ok === true);
  return (
    <Card
      title="On disk"
      actions={
        <>
          <Button onClick={check.reload}>Check again</Button>
          <ForAdmins>
            <Button kind="primary" disabled={!value?.ok} onClick={() => setAsking(value)}>
              Reload
            </Button>
          </ForAdmins>
        </>
      }
    >
      {reloaded && <ReloadResult result={reloaded} />}
      <LoadedContent loaded={check} rows={2}>
        {(checked) => <CheckResult check={checked} />}
      </LoadedContent>
      {asking && <Reload check={asking} onClose={() => setAsking(null)} onReloaded={setReloaded} />}
    </Card>
  );
}
