import { operationsOf } from "../../../src/admin/api/operations.ts";
import type { AdminDeps } from "../../../src/admin/deps.ts";
import { type AdminRoute, roleFor } from "../../../src/admin/routes/route.ts";
import { adminBase } from "../../../src/base/requests/admin-base.ts";
import { cell } from "./cell.ts";

/** The page of all operations, in the order of the program. */
export function adminApiPage(): string {
  // Routes use their dependencies only when they are called.
  const routes = operationsOf({} as AdminDeps);
  const groups = Map.groupBy(routes, ({ path }) => path.split("/")[1] ?? "");
  const sections = [...groups].map(
    ([name, group]) =>
      `## \`/${name}\`\n\n| Operation | Role | What it does |\n|---|---|---|\n${group.map(row).join("\n")}\n`,
  );
  return `# Admin API operations

Every operation below \`${adminBase}\`, generated from the program. [Admin API](../admin-api.md) explains how to call them.
\`GET ${adminBase}/openapi.json\` has their fields. The role is the minimum: a member can call an operation of members for what they own.

${sections.join("\n")}`;
}

function row(route: AdminRoute): string {
  const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
  return `| \`${route.method} ${path}\` | ${roleFor(route)} | ${cell(route.summary)} |`;
}
