/**
 * The schema of the config file, as people write it: every setting with its default and its meaning. `config.ts` turns
 * what it parses into the form that the code uses. The descriptions are the texts that editors and `docs/config.md`
 * show.
 */

import { DAY_MS } from '../base/clock.ts'
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import { parseMillionths } from '../base/money.ts'
import { canonicalEmail, REGISTRATION_MODES } from '../base/people.ts'
import { DEFAULT_ZONE, isWholeHours } from '../base/zone.ts'
import type { Rate } from '../terms/records.ts'
import { pay } from './pay-schema.ts'
import * as kind from './scalars.ts'
import { rate } from './scalars.ts'
import { siteSection } from './site-schema.ts'
import type { Source } from './yaml.ts'

// The sections about people: who may register, how mail is sent, who else may vouch for a person.

const SECURITIES = ['starttls', 'tls', 'none'] as const

export interface PeopleConfig {
  registration: {
    /** Who becomes a user. */
    mode: (typeof REGISTRATION_MODES)[number]
    /** Whether the file says the mode. */
    said: boolean
    /** What the account of somebody who registered may do. */
    groups: string[]
    /** null = that of its groups. */
    rate: Rate | null
  }
  /** null = no mail is sent. */
  smtp: {
    host: string
    port: number
    security: (typeof SECURITIES)[number]
    user: string | null
    password: string | null
    from: string
  } | null
  /** null = there is no OpenID provider. */
  oidc: { issuer: string; name: string; clientId: string; clientSecret: string; scopes: string[] } | null
}

const registration = {
  mode: kind
    .oneOf(...REGISTRATION_MODES)
    .optional()
    .meta({
      description:
        'Who can become a user. `closed`: whom an operator invites. `invite`: also whom the owner of an account invites; without `smtp` nobody proves the e-mail of such a user. `open`: everybody who proves an e-mail, which needs `smtp`. Default: `closed`; in the demo, by simulated letters, `open`.',
    }),
  groups: z
    .array(kind.name)
    .prefault(['default'])
    .meta({ description: 'Groups of the account that somebody gets who registers.' }),
  rate: rate.optional().meta({ description: 'Rate limit of such an account. Default: that of its groups.' }),
}

const mailAddress = kind.scalar('an e-mail address, or a name and an address in <>', { type: 'string' }, value => {
  const m = kind.matched(/^(?:[^<>\r\n"]{1,100}<([^<>\s]+)>|([^<>\s]+))$/, value)
  return m !== null && canonicalEmail(m[1] ?? m[2]) !== undefined ? (value as string) : undefined
})

const smtp = z.strictObject({
  host: kind.plainText('the name of a host').meta({ description: 'Host of the mail server.' }),
  port: kind.whole(1, 65_535).prefault(587).meta({ description: 'Its port.' }),
  security: kind
    .oneOf(...SECURITIES)
    .prefault('starttls')
    .meta({
      description:
        '`starttls`: the connection must become encrypted before anything is said. `tls`: it is from the beginning. `none`: only for a server on this machine.',
    }),
  user: kind.plainText('a user name').optional().meta({ description: 'User of the mail server. Default: none.' }),
  password: kind
    .secret('a password', /^[ -~]+$/)
    .optional()
    .meta({ description: 'Password of that user.' }),
  from: mailAddress.meta({ description: 'Sender of the mails.' }),
})

const oidc = z.strictObject({
  issuer: kind.webAddress.meta({
    description: 'URL of the OpenID provider, below which `/.well-known/openid-configuration` is found.',
  }),
  name: kind.name.prefault('OpenID').meta({ description: 'What the button for signing in says.' }),
  client_id: kind.plainText('a client id').meta({ description: 'The id that the provider knows the gateway by.' }),
  client_secret: kind.secret('a client secret', /^[!-~]+$/).meta({ description: 'The secret that belongs to it.' }),
  scopes: z
    .array(kind.plainText('a scope'))
    .prefault(['openid', 'email', 'profile'])
    .meta({ description: 'What the provider is asked for; `openid` must be among them.' }),
})

/** The sections, for the schema of the whole file. */
const peopleSections = {
  registration: z
    .strictObject(registration)
    .prefault({})
    .meta({ description: 'Who can become a user of the console.' }),
  smtp: smtp.optional().meta({
    description: 'The mail server by which addresses are proven and passwords reset. Default: no mail is sent.',
  }),
  oidc: oidc.optional().meta({ description: 'An OpenID provider by which people may sign in. Default: none.' }),
}

type Form = z.output<z.ZodObject<typeof peopleSections>>

export function toPeopleConfig({ registration, smtp, oidc }: Form): PeopleConfig {
  const { mode, groups, rate = null } = registration
  return {
    registration: { mode: mode ?? 'closed', said: mode !== undefined, groups, rate },
    smtp: smtp === undefined ? null : { ...smtp, user: smtp.user ?? null, password: smtp.password ?? null },
    oidc:
      oidc === undefined
        ? null
        : {
            issuer: oidc.issuer,
            name: oidc.name,
            clientId: oidc.client_id,
            clientSecret: oidc.client_secret,
            scopes: oidc.scopes,
          },
  }
}

/** What is wrong between the sections. */
export function checkPeople(form: Form, source: Source): void {
  if (form.registration.mode === 'open' && form.smtp === undefined)
    source.problem(['registration', 'mode'], 'the section smtp beside `open`, because addresses are proven by mail')
  if (form.oidc !== undefined && !form.oidc.scopes.includes('openid'))
    source.problem(['oidc', 'scopes'], 'openid among the scopes')
}

const MiB = 2 ** 20
const GiB = 2 ** 30

/** A map of settings. Unknown keys are errors, absent keys take their defaults, and the whole section may be absent. */
const section = <T extends z.ZodRawShape>(meaning: string, shape: T) =>
  z
    .strictObject(shape)
    .prefault({} as never)
    .meta({ description: meaning })

const timeout = (fallback: string, least: number, meaning: string) =>
  kind.duration({ least }).prefault(fallback).meta({ description: meaning })

const listenAt = (fallback: string, meaning: string) => kind.listener.prefault(fallback).meta({ description: meaning })

const names = (fallback: string[], meaning: string) =>
  z.array(kind.headerName).prefault(fallback).meta({ description: meaning })

const storeAddress = kind.scalar(
  '"sqlite:PATH" or "mysql://user:password@host:3306/database" (with % / ? # @ in user and password as %25 %2F %3F %23 %40)',
  { type: 'string', pattern: '^(sqlite:.+|mysql://.+/.+)$' },
  value => {
    if (typeof value !== 'string') return undefined
    if (/^sqlite:.+/.test(value)) return value
    const url = value.startsWith('mysql://') ? URL.parse(value) : null
    return url !== null && url.hostname !== '' && url.pathname.length > 1 && !endsEarly(url) ? value : undefined
  },
  mayHoldPassword,
)

/**
 * Whether problems must hide the address. One without `:` and `@` holds no password and is shown, so that a slip is
 * found.
 */
function mayHoldPassword(value: unknown): boolean {
  return typeof value !== 'string' || !/^[a-z][a-z\d+.-]*:\/\/[^:@]*$/i.test(value)
}

/**
 * Whether the password contains an unescaped `/`, `?`, `#` or `@`, so that the URL parser took a part of it for the
 * database.
 */
function endsEarly({ username, password, pathname, search, hash }: URL): boolean {
  try {
    decodeURIComponent(username + password)
  } catch {
    return true
  }
  return pathname.slice(1).includes('/') || (pathname + search).includes('@') || hash !== ''
}

const adminToken = kind.scalar(
  'a token of at least 8 characters without spaces',
  { type: 'string', pattern: '^([!-~]{8,})?$' },
  value => (typeof value === 'string' && /^([!-~]{8,})?$/.test(value) ? value || null : undefined),
  true,
)

const workers = kind.scalar(
  'a whole number from 1 to 256, or auto',
  { type: ['integer', 'string'], minimum: 1, maximum: 256, pattern: '^(auto|[1-9]\\d{0,2})$' },
  value => {
    if (value === 'auto') return availableParallelism()
    const count = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : value
    return typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= 256 ? count : undefined
  },
)

export const configSchema = z.strictObject({
  listen: section('Addresses to listen on; port 0 takes any free one.', {
    main: listenAt('127.0.0.1:3000', 'The main address: the API and the console.'),
    direct: listenAt('127.0.0.1:3001', 'The direct address: the API only, without the time limit of the main one.'),
    ops: listenAt('127.0.0.1:3002', 'For operators: metrics, health and the admin API. Keep it private.'),
  }),
  store: storeAddress
    .prefault('sqlite:data/gateway.db')
    .meta({ description: '`sqlite:PATH` for one host, `mysql://user:password@host:3306/database` for many gateways.' }),
  migrate_on_start: kind.flag.prefault(true).meta({
    description:
      'Make the tables of the store when serving starts, where it has none. Those of SQLite are made in any case.',
  }),
  secret: kind
    .secret('a secret of at least 8 characters without spaces', /^([!-~]{8,})?$/)
    .optional()
    .meta({
      description:
        'Encrypts upstream keys in the store. All gateways of one store need the same secret. Default: the `admin_token`.',
    }),
  secret_previous: kind
    .secret('the previous secret, of at least 8 characters without spaces', /^([!-~]{8,})?$/)
    .optional()
    .meta({
      description:
        'The previous `secret` (or `admin_token`, where that took its place), for a rotation: what it encrypted can still be read, and is encrypted anew. Default: none.',
    }),
  journal: kind
    .plainText('a folder')
    .prefault('data/journal')
    .meta({ description: 'Folder of the journal: settlements that are not in the store yet.' }),
  journal_limit: kind
    .size(64 * 1024, 1024 * GiB, 'from 64KiB to 1TiB')
    .prefault('256MiB')
    .meta({
      description:
        'Largest size of the journal, of all workers together. When it is full, new requests are refused; nothing is dropped.',
    }),
  catalog: kind
    .plainText('a file')
    .optional()
    .meta({ description: 'Catalogue file, applied to the store at start and on reload. Default: none.' }),
  admin_token: adminToken
    .optional()
    .meta({ description: 'Bearer token of the admin API, 8 characters or more. `serve` needs one.' }),
  workers: workers.prefault(1).meta({ description: 'Processes that share the listeners; `auto` = one per CPU core.' }),
  trusted_proxies: z.array(kind.network).prefault([]).meta({
    description:
      'Addresses and CIDRs of proxies whose `x-forwarded-for` is believed. It is read from the right; the first address that is not such a proxy is the client.',
  }),
  wire: section('Headers that clients may send under other names too: `name in the protocol: [other names]`.', {
    'alpha-version': names(['anthropic-version'], 'Version header of the messages protocol.'),
    'alpha-beta': names(['anthropic-beta'], 'Feature tags of the messages protocol.'),
    'x-gamma-api-key': names(['x-goog-api-key'], 'Key header of the generate-content protocol.'),
    'x-gamma-api-client': names(['x-goog-api-client'], 'Client name of the generate-content protocol.'),
  }),
  limits: section('Limits of requests and accounts.', {
    body: kind
      .size(1, GiB, 'from 1 to 1GiB')
      .prefault('64MiB')
      .meta({ description: 'Largest request body; a larger one is answered 413.' }),
    buffered: kind
      .size(1, 1024 * GiB, 'from 1 to 1TiB')
      .prefault('512MiB')
      .meta({
        description:
          'Most memory for all request bodies together, and for large answers of the gateway itself that clients have not read yet, per process; a request beyond it is answered 503, and a translated answer that finds no more room for what must be kept of it ends with the same error. The only one in memory may use all of it; otherwise an account may use at most half of what the others leave.',
      }),
    count: rate.optional().meta({
      description:
        'Rate limit per account for counting tokens and listing models. Default: ten times its `rate`, unlimited where that is unlimited.',
    }),
    rate: rate
      .prefault({ requests: 600, minutes: 1 })
      .meta({ description: 'Rate limit per account; a group or an account may override it.' }),
    concurrency: kind
      .whole(0)
      .prefault(0)
      .meta({ description: 'Most open requests per account, over all gateways of the store; 0 = unlimited.' }),
    keys: kind
      .whole(1, 1_000_000)
      .prefault(10_000)
      .meta({ description: 'Most keys that the people of an account can make in it; operators can make more.' }),
    members: kind.whole(1, 100_000).prefault(1_000).meta({
      description: 'Most members of an account, and most accounts of a user, for those who come in by invitations.',
    }),
  }),
  timeouts: section('How long the gateway waits.', {
    connect: timeout('5s', 1, 'Until a connection to an upstream is open.'),
    first_byte: timeout('600s', 1, 'Until the first byte of an upstream’s answer; 504 after it.'),
    idle: timeout('300s', 1, 'Until the next byte of an upstream’s answer that has begun; then the answer is cut.'),
    slow_client: timeout('300s', 1, 'Until a client takes more of its answer; then it is cut. At most `idle`.'),
    leave: timeout(
      '0s',
      0,
      'Until new connections are refused, when the process is told to end. `/readyz` is 503 from the signal on, so that a balancer can leave the gateway out first.',
    ),
    drain: timeout('60s', 0, 'Until open requests have finished, when the process is told to end.'),
    main: timeout('100s', 0, 'Until a request on the main address gets response data; 524 after it. `0s` = no limit.'),
  }),
  keepalive: section('Keep-alive bytes on open event streams, so that nobody in between closes a silent connection.', {
    main: timeout('15s', 0, 'Silence on the main address after which they are sent; `0s` = never.'),
    direct: timeout('0s', 0, 'The same for the direct address.'),
    early: timeout(
      '80s',
      0,
      'On the main address: the event stream starts after this time even when no upstream has answered; `0s` = never.',
    ),
  }),
  hold: section('Money set aside while a request runs.', {
    output_tokens: kind.whole(0).prefault(0).meta({
      description:
        'Output tokens whose price is held when a stream begins; the hold grows as more are produced. 0 = the whole maximum of the request.',
    }),
  }),
  client_gone: section('When a client leaves, its upstream is read to the end of the answer, for exact usage.', {
    drain: timeout('30s', 0, 'How long such an answer is read on.'),
    concurrent: kind.whole(0).prefault(1024).meta({
      description:
        'How many such streams are read on at once, per process: above it the oldest one of the account with most is closed. See docs/charging.md.',
    }),
  }),
  retry: section('Asking the next channel as long as nothing was relayed to the client.', {
    attempts: kind.whole(1, 100).prefault(3).meta({ description: 'Attempts per request, the first included.' }),
    deadline: timeout('120s', 0, 'How long after the first attempt another may begin; `0s` = no limit.'),
    budget: kind.percent.prefault('20%').meta({
      description: 'Retries are at most this share of the requests of the last 10 s; 10 per second are always allowed.',
    }),
  }),
  shed: section('Load shedding: new requests are refused before latency collapses.', {
    lag: timeout('0ms', 0, 'Event-loop lag above which new requests are answered 503; `0ms` = never.'),
  }),
  zone: kind
    .scalar(
      'the name of a time zone that is whole hours from UTC, like "Asia/Shanghai" or "UTC"',
      { type: 'string' },
      value => (typeof value === 'string' && isWholeHours(value) ? value : undefined),
    )
    .prefault(DEFAULT_ZONE)
    .meta({
      description:
        'Time zone in which days, weeks (from Monday) and months begin, when caps and budgets renew. Whole hours from UTC only.',
    }),
  usage_retention: kind
    .duration({ most: 36_500 * DAY_MS })
    .refine(ms => ms === 0 || ms >= DAY_MS, '`0s`, or at least a day: settlements may come late')
    .prefault('0s')
    .meta({
      description:
        'Age at which usage rows are deleted, by the store’s clock and at least a day; their charges stay in the books. `0s` = never.',
    }),
  export_rate: kind
    .size(64 * 1024, 1024 * GiB, 'from 64KiB to 1TiB')
    .prefault('2MiB')
    .meta({
      description:
        'Most bytes a second of all exports together, per process, so that they leave the processor to requests.',
    }),
  address_retention: kind
    .duration({ most: 36_500 * DAY_MS })
    .refine(ms => ms === 0 || ms >= 30 * DAY_MS, '`0s`, or at least 30 days: sessions have addresses as long')
    .prefault('190d')
    .meta({
      description:
        'Age at which the log of actions forgets from which address something was done, and a key from which it was last used, by the store’s clock and at least 30 days. Refusals are deleted after 7 days, sessions with address and browser after 30. `0s` = never.',
    }),
  billing: section('What a key is told about its money.', {
    usd_rate: kind
      .scalar(
        'a rate above 0, in CNY for 1 USD, with at most 6 decimal places',
        kind.AMOUNT,
        (value): number | undefined => {
          const rate = parseMillionths(value)
          return rate === null || rate <= 0 ? undefined : rate
        },
      )
      .optional()
      .meta({
        description:
          'CNY for 1 USD, for the pages on which chat applications show a balance in USD. Default: they show CNY.',
      }),
  }),
  pay: section('How people top up. A method without a section is not offered.', pay),
  images: section('Links to pictures that upstreams give as base64 only. See [images.md](images.md).', {
    links: kind.plainText('a folder').optional().meta({
      description:
        'Folder of pictures. With it, an image answer gives a `url` for each picture, unless the client asked for `b64_json`. Default: none, and answers pass as they come.',
    }),
    keep: kind
      .duration({ least: 60_000, most: 3650 * DAY_MS })
      .prefault('24h')
      .meta({ description: 'How long a picture is kept, and its link works.' }),
    size: kind
      .size(MiB, 1024 * GiB, 'from 1MiB to 1TiB')
      .prefault('2GiB')
      .meta({ description: 'Most bytes of all pictures together. The oldest are deleted first.' }),
  }),
  public: section('URLs by which clients reach the gateway, shown on its pages and in code snippets.', {
    main: kind.webAddress.optional().meta({
      description:
        'URL of the main listener. Default: made from `listen.main`. Passkeys belong to its host: they need https and a name.',
    }),
    direct: kind.webAddress
      .optional()
      .meta({ description: 'URL of the direct listener. Default: made from `listen.direct`.' }),
  }),
  site: siteSection,
  ...peopleSections,
  accept: kind.accepted.prefault([]).meta({ description: kind.ACCEPTED }),
  log: section('The log: one JSON object per line on standard output.', {
    level: kind
      .oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent')
      .prefault('info')
      .meta({ description: 'Lowest level that is written.' }),
  }),
})

export type ConfigForm = z.output<typeof configSchema>
