import { readAlertViews } from "../../admin/system/list-alerts.ts";
import { checkDatabase } from "../../store/open.ts";
import { database } from "../data-place.ts";
import type { DataOptions } from "../help.ts";
import { withFolder, withStore } from "../open-store.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { type Finding, messageOf, ok, problem, warning } from "./finding.ts";

/** Whether the database opens with this build's schema, and which alerts are active in it. */
export async function checkData(
  terminal: Terminal,
  options: DataOptions,
  dir: string,
): Promise<readonly Finding[]> {
  try {
    const location = database(options, terminal);
    if (location !== null) {
      const { name, serverVersion, schema } = await checkDatabase(location, { migrates: false });
      if (schema.version < schema.known)
        return [
          problem(
            "database",
            `${name} has schema ${schema.version}, and this build needs ${schema.known}`,
            "`sluice store check --migrate` brings it up to date",
          ),
        ];
      return [
        ok("database", `${name} responds (PostgreSQL ${serverVersion})`),
        ...(await alerts(terminal, options)),
      ];
    }
    const hasData = await withFolder(dir, async (folder) => folder.hasData());
    if (!hasData) return [ok("database", "it has no data yet")];
    return [...(await alerts(terminal, options)), ok("database", `the database in ${dir} can be read`)];
  } catch (error) {
    return [problem("database", messageOf(error))];
  }
}

function alerts(terminal: Terminal, options: DataOptions): Promise<Finding[]> {
  return withStore(terminal, options, async (context) => {
    const active = await readAlertViews(context);
    return active
      .filter(({ severity, acknowledged }) => severity !== "info" && acknowledged === null)
      .map(({ severity, text, next }) => (severity === "critical" ? problem : warning)("alert", text, next));
  });
}
