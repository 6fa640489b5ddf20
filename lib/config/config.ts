/**
 * Reads the config file into the form that the code uses: every default filled in, every duration in ms, every size in
 * bytes. `schema.ts` describes the file as people write it.
 */

import path from 'node:path'
import { type SenseFinding, readSource, Source, validate } from './yaml.ts'
import type { Rate } from '../terms/records.ts'
import { checkPay, titleOf } from './pay-schema.ts'
import type { Listener } from './scalars.ts'
import { type SiteSettings, toSiteConfig } from './site-schema.ts'
import { type ConfigForm, checkPeople, configSchema, type PeopleConfig, toPeopleConfig } from './schema.ts'

export type { Listener } from './scalars.ts'
export { announced, mixed, type ShownAnnouncement, type SiteSettings } from './site-schema.ts'
export { configSchema } from './schema.ts'
export { ConfigError } from './yaml.ts'

/** Plain data: it may be sent to another process as JSON. `docs/config.md` says what each setting means. */
export interface Config extends PeopleConfig {
  /** Rules of sense whose findings are meant, or `RULE:ROW` for one row of the catalogue. */
  accept: string[]
  listen: { main: Listener; direct: Listener; ops: Listener }
  /** `sqlite:PATH` or `mysql://…` */
  store: string
  migrateOnStart: boolean
  /** Encrypts upstream keys in the store. Empty without `secret` and `admin_token`: then nothing can be encrypted. */
  secret: string
  /** Whether `secret` is one of its own, and not made from `admin_token`: users need that. */
  ownSecret: boolean
  /** The secret before a rotation: what it encrypted can still be read, and is encrypted anew. null = none. */
  secretPrevious: string | null
  /** Path of the journal's folder. */
  journal: string
  journalLimitBytes: number
  /** Path of the catalogue file; null = none. */
  catalog: string | null
  adminToken: string | null
  /** 1 or more. */
  workers: number
  /** Addresses and CIDRs of proxies whose `x-forwarded-for` is believed. */
  trustedProxies: string[]
  /** A header's name in its protocol → other names that clients may use for it; all in lower case. */
  wire: Record<string, string[]>
  limits: {
    bodyBytes: number
    /** Most bytes of all request bodies in memory together, per process. */
    bufferedBytes: number
    rate: Rate
    /** For counting tokens and listing models; null = ten times the rate of the account. */
    count: Rate | null
    /** Most open requests per account and process; 0 = unlimited. */
    concurrency: number
    /** Most keys that the people of an account can make in it. */
    keys: number
    /** Most members of an account, and most accounts of a user. */
    members: number
  }
  /** `drainMs: 0` = do not wait; `mainMs: 0` = no limit. */
  timeouts: {
    connectMs: number
    firstByteMs: number
    idleMs: number
    leaveMs: number
    drainMs: number
    mainMs: number
    slowClientMs: number
  }
  /** `mainMs` and `directMs` are the silence before keep-alive bytes; `earlyMs` is a request's age. 0 = never. */
  keepalive: { mainMs: number; directMs: number; earlyMs: number }
  hold: {
    /** Output tokens held when a stream begins; 0 = the whole maximum of the request. */
    outputTokens: number
  }
  clientGone: { drainMs: number; concurrent: number }
  retry: {
    /** Most attempts per request, the first included. */
    attempts: number
    /** How long after the first attempt another may begin; 0 = no limit. */
    deadlineMs: number
    /** Retries as a share of requests: a fraction from 0 to 1. */
    budget: number
  }
  shed: {
    /** Event-loop lag above which new requests are refused; 0 = never. */
    lagMs: number
  }
  /** Name of the time zone in which the periods of caps and budgets begin. */
  zone: string
  /** Age at which usage rows are deleted; 0 = never. */
  usageRetentionMs: number
  /** What all exports of a process together may make in a second. */
  exportBytesPerS: number
  /** Age at which addresses of people are forgotten; 0 = never. */
  addressRetentionMs: number
  /** `usdRate`: CNY for 1 USD in millionths; null = a key's money is shown in CNY. */
  billing: { usdRate: number | null }
  /** Pictures that are kept, so that answers can link to them; null = none are. */
  images: ImageLinks | null
  /** URLs by which clients reach the two listeners, without a slash at the end. */
  public: {
    main: string
    direct: string
    /** The config names `main`; otherwise it is made from the listener. */
    given: boolean
  }
  site: SiteSettings
  log: { level: ConfigForm['log']['level'] }
  pay: PayConfig
  /** Address of the page that plays the payer of simulated providers, which only `gateway demo` has; null = there is none. */
  payer: string | null
  /** Address of the page that shows letters to people who register, which only `gateway demo` has; null = letters are sent. */
  mailbox: string | null
}

/** The section `pay` as people write it; amounts are in micro-CNY. */
export type PayConfig = Omit<ConfigForm['pay'], 'title'> & { title: string }

export interface ImageLinks {
  folder: string
  keepMs: number
  sizeBytes: number
}

/** A config, and what its file says where. */
export interface ConfigFile {
  config: Config
  /** One line for each finding about the config, in the order of the file. */
  tell(findings: readonly SenseFinding[]): string[]
}

/** Throws ConfigError with one line per problem. */
export const openConfig = (file: string, env: NodeJS.ProcessEnv): ConfigFile => fileOf(readSource(file, env))

export const loadConfig = (file: string, env: NodeJS.ProcessEnv): Config => openConfig(file, env).config

/** Reads a config from a text, as `openConfig` reads one from a file. `file`: the name that problems show. */
export const openText = (text: string, file: string, env: NodeJS.ProcessEnv): ConfigFile =>
  fileOf(new Source(text, file, env))

export const parseConfig = (text: string, file: string, env: NodeJS.ProcessEnv): Config =>
  openText(text, file, env).config

const fileOf = (source: Source): ConfigFile => ({
  config: fromSource(source),
  tell(findings) {
    for (const { row, ofCatalog, path, expected, hidden = false, rule } of findings)
      if (row === null && ofCatalog !== true) source.warn(path, expected, { hidden, rule })
    return source.takeWarnings()
  },
})

function fromSource(source: Source): Config {
  const form = validate(configSchema, source)
  if (form !== null) {
    checkListeners(form, source)
    checkFolders(form, source)
    checkPeople(form, source)
    checkPay(form, source)
  }
  const site = form === null ? null : toSiteConfig(form.site, source)
  source.throwProblems()
  return toConfig(form as ConfigForm, site as SiteSettings, source)
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

function checkFolders({ images, journal }: ConfigForm, source: Source): void {
  if (images.links !== undefined && path.resolve(images.links) === path.resolve(journal))
    source.problem(['images', 'links'], 'another folder than journal')
}

/** The URL of a listener for a browser on this host; one that listens on every address is reached as `localhost`. */
export function localUrlOf({ host, port }: Listener): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

const imageLinksOf = ({ images: { links, keep, size } }: ConfigForm): ImageLinks | null =>
  links === undefined ? null : { folder: links, keepMs: keep, sizeBytes: size }

function toConfig(form: ConfigForm, site: SiteSettings, source: Source): Config {
  const { timeouts, keepalive, listen } = form
  const adminToken = form.admin_token ?? null
  return {
    accept: form.accept,
    listen,
    store: form.store,
    migrateOnStart: form.migrate_on_start,
    secret: form.secret || adminToken || '',
    ownSecret: Boolean(form.secret),
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
      keys: form.limits.keys,
      members: form.limits.members,
    },
    timeouts: {
      connectMs: timeouts.connect,
      firstByteMs: timeouts.first_byte,
      idleMs: timeouts.idle,
      leaveMs: timeouts.leave,
      drainMs: timeouts.drain,
      mainMs: timeouts.main,
      slowClientMs: Math.min(timeouts.slow_client, timeouts.idle),
    },
    keepalive: { mainMs: keepalive.main, directMs: keepalive.direct, earlyMs: keepalive.early },
    hold: { outputTokens: form.hold.output_tokens },
    clientGone: { drainMs: form.client_gone.drain, concurrent: form.client_gone.concurrent },
    retry: { attempts: form.retry.attempts, deadlineMs: form.retry.deadline, budget: form.retry.budget },
    shed: { lagMs: form.shed.lag },
    zone: form.zone,
    usageRetentionMs: form.usage_retention,
    exportBytesPerS: form.export_rate,
    addressRetentionMs: form.address_retention,
    billing: { usdRate: form.billing.usd_rate ?? null },
    images: imageLinksOf(form),
    public: {
      main: form.public.main ?? localUrlOf(listen.main),
      direct: form.public.direct ?? localUrlOf(listen.direct),
      given: form.public.main !== undefined,
    },
    site,
    ...toPeopleConfig(form),
    log: form.log,
    pay: { ...form.pay, title: form.pay.title ?? titleOf(form.public.main) },
    payer: null,
    mailbox: null,
  }
}

/** Settings that are allowed, and leave something uncertain that people may take for certain. */
export const peopleWarnings = ({ registration, smtp }: PeopleConfig): string[] =>
  registration.mode === 'invite' && smtp === null
    ? ['registration.mode: `invite` without smtp: the e-mail of a user is what the owner of an account has written']
    : []
