import { tableOf } from "../../base/collections/table.ts";

const createKeys = "create keys with `sluice keys create`";
const retries = "Sluice retries and changes to another deployment by itself";

/** Advice for LiteLLM's settings without a counterpart in the file. Settings that are not in this table are only listed. */
const replacements = tableOf<string>({
  "general_settings.master_key": `set SLUICE_ADMIN_TOKEN instead; ${createKeys}`,
  "general_settings.database_url": `Sluice has a database of its own ([store] url for PostgreSQL); ${createKeys}`,
  "general_settings.database_connection_pool_limit": "Sluice sizes its connections itself",
  "general_settings.alerting": "set [alerts] url to a webhook",
  "general_settings.store_prompts_in_spend_logs": "set [content] to record requests and responses",
  "litellm_settings.max_budget": "set a cap on keys: `sluice keys create --cap 100/month`",
  "litellm_settings.budget_duration": "the period of a cap: `sluice keys create --cap 100/month`",
  "litellm_settings.max_internal_user_budget": "set a cap on keys: `sluice keys create --cap 100/month`",
  "litellm_settings.default_key_generate_params": `${createKeys}, which has limits and caps`,
  "litellm_settings.upperbound_key_generate_params": `${createKeys}, which has limits and caps`,
  "litellm_settings.drop_params": "the response headers list the fields that a provider does not support",
  "litellm_settings.num_retries": retries,
  "router_settings.num_retries": retries,
  "router_settings.allowed_fails": retries,
  "router_settings.cooldown_time": retries,
  "router_settings.routing_strategy": "Sluice chooses by priority, weight and load",
  "router_settings.redis_host": "several gateways share one PostgreSQL database: [store] url",
  "router_settings.redis_port": "several gateways share one PostgreSQL database: [store] url",
  "router_settings.redis_password": "several gateways share one PostgreSQL database: [store] url",
  "litellm_settings.success_callback": "Sluice sends OpenTelemetry traces: [tracing]",
  "litellm_settings.failure_callback": "Sluice sends OpenTelemetry traces: [tracing]",
  "litellm_settings.callbacks": "Sluice sends OpenTelemetry traces: [tracing]",
});

/** One sentence about a setting that was not converted: `litellm_settings.cache`. */
export function droppedSetting(name: string): string {
  return `${name}: ${replacements[name] ?? "not supported"}`;
}
