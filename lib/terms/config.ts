/** The config as the gateway uses it: our units, our names, everything filled in. */

import type { Listener } from './config-addresses.ts'
import { validate } from './config-issues.ts'
import { type ConfigForm, configSchema } from './config-schema.ts'
import type { Rate } from './records.ts'
import { readSource, Source } from './yaml.ts'

export type { Listener } from './config-addresses.ts'
export { ConfigError } from './yaml.ts'

/** Plain data: it may be sent to another process as JSON. `docs/config.md` says what each setting means. */
export interface Config {
  listen: { main: Listener; direct: Listener; ops: Listener }
  /** `sqlite:PATH` or `mysql://…` */
  store: string
  migrateOnStart: boolean
  /** Seals upstream keys at rest. Empty when neither `secret` nor `admin_token` is given: nothing can be sealed then. */
  secret: string
  /** What was sealed under it is read too, and sealed anew; null = none. */
  secretPrevious: string | null
  /** A folder. */
  journal: string
  journalLimitBytes: number
  /** A file; null = none. */
  catalog: string | null
  adminToken: string | null
  /** 1 or more. */
  workers: number
  /** Addresses and CIDRs. */
  trustedProxies: string[]
  /** The protocol's header name → other names for it, all in lower case. */
  wire: Record<string, string[]>
  limits: {
    bodyBytes: number
    /** Of all request bodies in memory, per process. */
    bufferedBytes: number
    rate: Rate
    /** Of count routes and model lists; null = by the rate of the account. */
    count: Rate | null
    /** Open requests per account; 0 = unlimited. */
    concurrency: number
  }
  /** `drainMs` and `mainMs` may be 0: not at all. */
  timeouts: {
    connectMs: number
    firstByteMs: number
    idleMs: number
    drainMs: number
    mainMs: number
    slowClientMs: number
  }
  /** 0 = never. */
  keepalive: { mainMs: number; directMs: number; earlyMs: number }
  hold: {
    /** 0 = the whole maximum of the request. */
    outputTokens: number
  }
  clientGone: { drainMs: number; concurrent: number }
  retry: {
    /** The first included. */
    attempts: number
    /** Since the first attempt; 0 = none. */
    deadlineMs: number
    /** Fraction from 0 to 1. */
    budget: number
  }
  shed: {
    /** 0 = never. */
    lagMs: number
  }
  /** 0 = for ever. */
  usageRetentionMs: number
  /** URLs without a slash at the end. */
  public: { main: string; direct: string }
  log: { level: ConfigForm['log']['level'] }
}

/** Throws ConfigError with a line for every problem. */
export const loadConfig = (file: string, env: NodeJS.ProcessEnv): Config => fromSource(readSource(file, env))

/** The same from text; `file` is the name that problems carry. */
export const parseConfig = (text: string, file: string, env: NodeJS.ProcessEnv): Config =>
  fromSource(new Source(text, file, env))

function fromSource(source: Source): Config {
  const form = validate(configSchema, source)
  if (form !== null) checkListeners(form, source)
  source.throwProblems()
  return toConfig(form as ConfigForm, source)
}

function checkListeners({ listen }: ConfigForm, source: Source): void {
  const taken = new Map<string, string>()
  for (const name of ['main', 'direct', 'ops'] as const) {
    const { host, port } = listen[name]
    const other = taken.get(`${host}:${port}`)
    if (port !== 0 && other !== undefined) source.problem(['listen', name], `another address than listen.${other}`)
    taken.set(`${host}:${port}`, name)
  }
}

/** An address that a browser on this host can open. */
function addressOf({ host, port }: Listener): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

function toConfig(form: ConfigForm, source: Source): Config {
  const { timeouts, keepalive, listen } = form
  const adminToken = form.admin_token ?? null
  return {
    listen,
    store: form.store,
    migrateOnStart: form.migrate_on_start,
    secret: form.secret || adminToken || '',
    secretPrevious: form.secret_previous || null,
    journal: form.journal,
    journalLimitBytes: form.journal_limit,
    catalog: form.catalog === undefined ? null : source.resolve(form.catalog),
    adminToken,
    workers: form.workers,
    trustedProxies: form.trusted_proxies,
    wire: form.wire,
    limits: {
      bodyBytes: form.limits.body,
      bufferedBytes: form.limits.buffered,
      rate: form.limits.rate,
      count: form.limits.count ?? null,
      concurrency: form.limits.concurrency,
    },
    timeouts: {
      connectMs: timeouts.connect,
      firstByteMs: timeouts.first_byte,
      idleMs: timeouts.idle,
      drainMs: timeouts.drain,
      mainMs: timeouts.main,
      slowClientMs: Math.min(timeouts.slow_client, timeouts.idle),
    },
    keepalive: { mainMs: keepalive.main, directMs: keepalive.direct, earlyMs: keepalive.early },
    hold: { outputTokens: form.hold.output_tokens },
    clientGone: { drainMs: form.client_gone.drain, concurrent: form.client_gone.concurrent },
    retry: { attempts: form.retry.attempts, deadlineMs: form.retry.deadline, budget: form.retry.budget },
    shed: { lagMs: form.shed.lag },
    usageRetentionMs: form.usage_retention,
    public: {
      main: form.public.main ?? addressOf(listen.main),
      direct: form.public.direct ?? addressOf(listen.direct),
    },
    log: form.log,
  }
}
