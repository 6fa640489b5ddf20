/** The config file, as people write it. Descriptions are the meaning that editors and `docs/config.md` show. */
import { availableParallelism } from 'node:os'
import { z } from 'zod'
import * as address from './config-addresses.ts'
import * as kind from './config-scalars.ts'

const GiB = 2 ** 30
const DAY_MS = 86_400_000

/** A section: unknown keys are errors, absent keys take their defaults. */
const section = <T extends z.ZodRawShape>(meaning: string, shape: T) =>
  z
    .strictObject(shape)
    .prefault({} as never)
    .meta({ description: meaning })

const timeout = (fallback: string, least: number, meaning: string) =>
  kind.duration({ least }).prefault(fallback).meta({ description: meaning })

const listenAt = (fallback: string, meaning: string) =>
  address.listener.prefault(fallback).meta({ description: meaning })

const names = (fallback: string[], meaning: string) =>
  z.array(address.headerName).prefault(fallback).meta({ description: meaning })

export const rate = z.strictObject({
  requests: kind.whole(0).meta({ description: 'Requests admitted in any such span of minutes; 0 = unlimited.' }),
  minutes: kind.whole(1, 43_200).prefault(1).meta({ description: 'Length of the window in minutes.' }),
})

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

/** An address with nothing in it but a scheme and names is shown, so that a slip is found. */
function mayHoldPassword(value: unknown): boolean {
  return typeof value !== 'string' || !/^[a-z][a-z\d+.-]*:\/\/[^:@]*$/i.test(value)
}

/** The password holds what ends it in a URL, so that a part of it would be taken for the database or what is behind that. */
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
  migrate_on_start: kind.flag
    .prefault(true)
    .meta({ description: 'Create or upgrade the schema when serving starts. SQLite is always upgraded.' }),
  secret: kind
    .secret('a secret of at least 8 characters without spaces', /^([!-~]{8,})?$/)
    .optional()
    .meta({
      description:
        'Encrypts upstream keys in the store; the same for all gateways of a store. Default: made from `admin_token`.',
    }),
  secret_previous: kind
    .secret('the secret that was, of at least 8 characters without spaces', /^([!-~]{8,})?$/)
    .optional()
    .meta({
      description:
        'The `secret` before (or the `admin_token`, where that was it), while it is rotated: what stands under it is read and encrypted anew. Default: none.',
    }),
  journal: kind
    .text('a folder')
    .prefault('data/journal')
    .meta({ description: 'Folder for settlements that the store does not hold yet.' }),
  journal_limit: kind
    .size(64 * 1024, 1024 * GiB, 'from 64KiB to 1TiB')
    .prefault('256MiB')
    .meta({
      description:
        'Most that the journal may take, of all workers together; beyond it new requests are refused, nothing is dropped.',
    }),
  catalog: kind
    .text('a file')
    .optional()
    .meta({ description: 'Catalogue file applied at start and on reload. Default: none.' }),
  admin_token: adminToken
    .optional()
    .meta({ description: 'Bearer token of the admin API, 8 characters or more. `serve` needs one.' }),
  workers: workers.prefault(1).meta({ description: 'Processes that share the listeners; `auto` = one a core.' }),
  trusted_proxies: z
    .array(address.network)
    .prefault([])
    .meta({ description: 'Addresses and CIDRs whose `x-forwarded-for` is believed, walked from the right.' }),
  wire: section('Other names under which a client may send a header; the key is the name of the protocol.', {
    'alpha-version': names(['anthropic-version'], 'Version header of the messages protocol.'),
    'alpha-beta': names(['anthropic-beta'], 'Feature tags of the messages protocol.'),
    'x-gamma-api-key': names(['x-goog-api-key'], 'Key header of the generate-content protocol.'),
    'x-gamma-api-client': names(['x-goog-api-client'], 'Client name of the generate-content protocol.'),
  }),
  limits: section('What one request and one account may ask for.', {
    body: kind
      .size(1, GiB, 'from 1 to 1GiB')
      .prefault('64MiB')
      .meta({ description: 'Largest request body; larger: 413.' }),
    buffered: kind
      .size(1, 1024 * GiB, 'from 1 to 1TiB')
      .prefault('512MiB')
      .meta({
        description:
          'Request bodies in memory, all together, per process; beyond it 503. Half of it for one account, as soon as it has several there.',
      }),
    count: rate.optional().meta({
      description:
        'Requests per account to count routes and model lists. Default: ten times its rate, unlimited where that is.',
    }),
    rate: rate
      .prefault({ requests: 600, minutes: 1 })
      .meta({ description: 'Requests per account; a group or an account may override it.' }),
    concurrency: kind.whole(0).prefault(0).meta({ description: 'Open requests per account; 0 = unlimited.' }),
  }),
  timeouts: section('How long to wait.', {
    connect: timeout('5s', 1, 'For the connection to an upstream.'),
    first_byte: timeout('600s', 1, 'For the first byte of an upstream answer; 504 after it.'),
    idle: timeout('300s', 1, 'For the next byte of an upstream answer that has begun.'),
    slow_client: timeout('300s', 1, 'For a client to take more of its answer; at most `idle`.'),
    drain: timeout('60s', 0, 'For open requests when the process is told to end.'),
    main: timeout('100s', 0, 'For any response data on the main address; 524 after it. `0s` leaves it to a CDN.'),
  }),
  keepalive: section('Keep-alive bytes on open event streams.', {
    main: timeout('15s', 0, 'Silence on the main address after which they go out; `0s` = never.'),
    direct: timeout('0s', 0, 'The same on the direct address.'),
    early: timeout(
      '80s',
      0,
      'On the main address, start the stream when no upstream has answered by then; `0s` = never.',
    ),
  }),
  hold: section('Money set aside while a request runs.', {
    output_tokens: kind.whole(0).prefault(0).meta({
      description:
        'At most this many output tokens are held up front, more as they are produced; 0 = the whole maximum of the request.',
    }),
  }),
  client_gone: section('Reading an answer to its end after its client has left, for exact usage.', {
    drain: timeout('30s', 0, 'How long.'),
    concurrent: kind
      .whole(0)
      .prefault(256)
      .meta({ description: 'How many such answers at once, per process; one account has at most a quarter, and one.' }),
  }),
  retry: section('Going on to the next channel when nothing was relayed yet.', {
    attempts: kind.whole(1, 100).prefault(3).meta({ description: 'Attempts per request, the first included.' }),
    deadline: timeout('120s', 0, 'How long after the first attempt another one may still begin; `0s` = always.'),
    budget: kind.percent
      .prefault('20%')
      .meta({ description: 'Over 10 s, retries are at most this share of the requests, with a floor of 10 a second.' }),
  }),
  shed: section('Refusing new work before latency collapses.', {
    lag: timeout('0ms', 0, 'Event-loop lag above which new requests are answered 503; `0ms` = never.'),
  }),
  usage_retention: kind
    .duration({ most: 36_500 * DAY_MS })
    .refine(ms => ms === 0 || ms >= DAY_MS, '`0s`, or at least a day: settlements may come late')
    .prefault('0s')
    .meta({
      description:
        "Age at which usage rows are deleted, at least a day by the store's clock; what they charged stays in the books. `0s` = keep all.",
    }),
  public: section('How people reach the gateway, for pages and snippets.', {
    main: address.webAddress
      .optional()
      .meta({ description: 'Address of the main listener. Default: the listen address.' }),
    direct: address.webAddress
      .optional()
      .meta({ description: 'Address of the direct listener. Default: the listen address.' }),
  }),
  log: section('The log, one JSON object a line on standard output.', {
    level: kind
      .oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent')
      .prefault('info')
      .meta({ description: 'The least important level that is written.' }),
  }),
})

export type ConfigForm = z.output<typeof configSchema>
