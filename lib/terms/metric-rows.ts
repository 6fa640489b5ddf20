/**
 * The table of metrics: one row for each that the gateway itself keeps. `metrics.ts` counts them; `docs/metrics.md`
 * lists the same rows, and a test compares the two.
 */
export interface MetricRow {
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  /** At most two. No label may hold a key, an account, a request id or a model that the catalogue does not know. */
  labels: readonly string[]
  help: string
  /** How the values of several processes are combined. */
  aggregator: 'sum' | 'max'
  /**
   * Counted in whole micro-CNY and shown in CNY. The sum over all processes is divided once, so that no rounding adds
   * up.
   */
  money?: true
}

/** How an exchange ended whose client left, or was cut off because it took nothing. */
export const GONE_OUTCOMES = ['drained', 'cut', 'slow'] as const

/** Why an upstream was read on no longer although it had not ended: its time was over, or others needed the place. */
export const READ_ON_ENDS = ['time', 'room'] as const
export type ReadOnEnd = (typeof READ_ON_ENDS)[number]

/** What became of a request whose account cannot pay its worst case, and could pay what is held for one such request. */
export const UNCOVERED_OUTCOMES = ['admitted', 'refused'] as const

/** What became of a picture that was to be a link. */
export const PICTURE_OUTCOMES = ['kept', 'no_room', 'failed', 'not_base64'] as const
export type PictureOutcome = (typeof PICTURE_OUTCOMES)[number]

type More = Partial<Pick<MetricRow, 'aggregator' | 'money'>>
const row =
  <Type extends MetricRow['type']>(type: Type) =>
  (name: string, labels: readonly string[], help: string, more: More = {}): MetricRow & { type: Type } => ({
    name,
    type,
    labels,
    help,
    aggregator: 'sum',
    ...more,
  })

const counter = row('counter')
const gauge = row('gauge')
const histogram = row('histogram')

export const METRICS = {
  requests: counter(
    'gateway_requests_total',
    ['protocol', 'status'],
    'Requests answered. Status 499: the client left before its answer began.',
  ),
  refusals: counter('gateway_refusals_total', ['reason'], 'Requests that the gateway itself answered with an error.'),
  refusalsLost: counter(
    'gateway_refusals_lost_total',
    ['cause'],
    'Refusals of known keys that cannot be looked up: queue_full (too many at once) or store (the store did not take them).',
  ),
  inflight: gauge('gateway_inflight', ['protocol'], 'Requests under way.'),
  connections: gauge('gateway_connections', [], 'Connections of clients.'),
  connectionsRefused: counter(
    'gateway_connections_refused_total',
    ['cause'],
    'Connections that were closed without an answer: limit (half of the files that the process may open are connections of clients), system (it gave none) or pipelined (more than 100 requests, or 256 KiB of them, waited for the answers before them).',
  ),
  overhead: histogram('gateway_overhead_seconds', [], 'Time of a request, less the time spent waiting for upstreams.'),
  firstByte: histogram(
    'gateway_first_byte_seconds',
    ['protocol'],
    'Time to the first byte of the upstream’s answer, for requests that got one.',
  ),
  channelFirstByte: histogram(
    'gateway_channel_first_byte_seconds',
    ['channel'],
    'The same by channel, of requests that were charged or could have been.',
  ),
  duration: histogram('gateway_request_seconds', ['protocol'], 'Time of a request, from its start to its end.'),
  tokens: counter('gateway_tokens_total', ['model', 'class'], 'Tokens charged.'),
  usageCounted: counter(
    'gateway_usage_counted_total',
    ['channel'],
    'Whole answers whose upstream reported no usage that could be read, or only a half of it, so that what they used was counted.',
  ),
  finishUnknown: counter(
    'gateway_finish_unknown_total',
    ['channel'],
    'Answers that say why they ended in a word that the gateway does not know.',
  ),
  tierUnlisted: counter(
    'gateway_tier_unlisted_total',
    ['model'],
    'Answers that report a service tier, speed or place that the price does not list, so that it was charged without a factor.',
  ),
  pictureUnmatched: counter(
    'gateway_picture_unmatched_total',
    ['model'],
    'Answers with a picture whose size and quality match nothing in the price, so that it was charged at the dearest.',
  ),
  pictures: counter(
    'gateway_pictures_total',
    ['outcome'],
    'Pictures of answers that were to become links: kept, or left in the answer as base64: no_room (`images.size`), failed (the folder did not take it) or not_base64.',
  ),
  picturesDeleted: counter(
    'gateway_pictures_deleted_total',
    ['cause'],
    'Kept pictures that were deleted: keep (their time was over) or size (before that, to make room for others).',
  ),
  pictureBytes: gauge('gateway_pictures_bytes', [], 'Bytes of all kept pictures, as the latest sweep left them.', {
    aggregator: 'max',
  }),
  charge: counter('gateway_charge_cny_total', ['model'], 'CNY charged.', { money: true }),
  cost: counter('gateway_cost_cny_total', ['channel'], 'CNY that upstreams take, of requests whose cost is known.', {
    money: true,
  }),
  costedCharge: counter(
    'gateway_costed_charge_cny_total',
    ['channel'],
    'CNY charged for requests whose cost is known: less the cost, it is the margin.',
    { money: true },
  ),
  disputed: counter(
    'gateway_disputed_cny_total',
    ['channel'],
    'CNY not charged, because the upstream reported more than its request can have caused.',
    { money: true },
  ),
  attempts: counter('gateway_upstream_attempts_total', ['channel', 'result'], 'Attempts at an upstream.'),
  channelState: gauge(
    'gateway_channel_state',
    ['channel'],
    'Circuit breaker of the channel: 0 closed, 1 half-open, 2 open.',
    { aggregator: 'max' },
  ),
  channelKeyState: gauge(
    'gateway_channel_key_state',
    ['channel', 'key'],
    'Circuit breaker of each key, where a channel has several: values as above; `key` is its position, from 1.',
    { aggregator: 'max' },
  ),
  channelBalance: gauge(
    'gateway_channel_balance',
    ['channel', 'currency'],
    'What is left at the upstream of the channel, by what it tells or by the `budget` of the channel; absent = not known.',
    { aggregator: 'max', money: true },
  ),
  channelBalanceState: gauge(
    'gateway_channel_balance_state',
    ['channel'],
    'Whether that is enough, of channels with `warn_below`: 0 it is, 1 it is less, 2 nobody knows.',
    { aggregator: 'max' },
  ),
  rests: counter(
    'gateway_channel_rests_total',
    ['channel', 'scope'],
    'Rests of a model at the channel, because its upstream said that it is too busy or reported what cannot be, or because an account left too much unpaid: of one account (`account`), of all others for a moment (`others`), of all (`all`).',
  ),
  restsForgotten: counter(
    'gateway_channel_rests_forgotten_total',
    [],
    'Rests of single accounts that were forgotten before their end, because there were too many.',
  ),
  attemptsOpen: gauge('gateway_upstream_open', ['channel'], 'Attempts under way at the channel.'),
  hedges: counter(
    'gateway_hedges_total',
    ['outcome'],
    'Second attempts beside a silent first one: won (it answered first) or lost.',
  ),
  holdsOpen: gauge('gateway_holds_open', [], 'Requests under way for which money is set aside.'),
  held: gauge('gateway_held_cny', [], 'CNY set aside for requests under way.', { money: true }),
  moneyWait: histogram(
    'gateway_money_wait_seconds',
    [],
    'Time that a request waited for the store to set money aside, for requests that had to wait.',
  ),
  leaseCalls: counter(
    'gateway_lease_calls_total',
    ['result'],
    'Calls of the store for leases of balances, caps and budgets: granted, nothing (the purse has none) or failed (no answer).',
  ),
  leaseCallsOpen: gauge('gateway_lease_calls_open', [], 'Calls for leases under way. A purse has one at most.'),
  settlements: counter('gateway_settlements_total', ['basis'], 'Settled requests, by what their charge is based on.'),
  settlementLag: gauge(
    'gateway_settlement_lag_seconds',
    [],
    'Age of the oldest settlement that is not in the store yet.',
    {
      aggregator: 'max',
    },
  ),
  journalEntries: gauge('gateway_journal_entries', [], 'Settlements in the journal that are not in the store yet.'),
  setAside: gauge(
    'gateway_set_aside',
    ['what'],
    'Files beside the journals of this machine that need a person: settlements that are not in the books, journals that are partly unreadable, journals of another store or of a newer version.',
    { aggregator: 'max' },
  ),
  clockSkew: gauge('gateway_clock_skew_seconds', [], "How far this machine's clock is from the store's.", {
    aggregator: 'max',
  }),
  storeQueries: counter('gateway_store_queries_total', ['op'], 'Statements sent to the store.'),
  storeState: gauge(
    'gateway_store_state',
    [],
    'Whether the store answers, as its processes know it: 0 yes, 1 too late for a request that waits, 2 it takes no writes, 3 no.',
    { aggregator: 'max' },
  ),
  storeErrors: counter('gateway_store_errors_total', ['op'], 'Statements sent to the store that failed.'),
  uncovered: counter(
    'gateway_uncovered_total',
    ['outcome'],
    'Requests whose account could not pay their worst case: admitted (with less held, one of an account at a time) or refused (while another request of the account is open).',
  ),
  readOnsClosed: counter(
    'gateway_read_ons_closed_total',
    ['reason'],
    'Upstreams that were closed before their end although they were read on after their client had left: time (`client_gone.drain` or `timeouts.first_byte` was over) or room (`client_gone.concurrent` was reached).',
  ),
  clientGone: counter(
    'gateway_client_gone_total',
    ['outcome'],
    'Answers whose client left: drained (read to the end), cut (given up) or slow (cut because it took nothing for `timeouts.slow_client`).',
  ),
  translations: counter(
    'gateway_translations_total',
    ['what', 'outcome'],
    'Large bodies (request, answer) that another thread translated. `outcome`: done, unfit (the request cannot be said), left (nobody waited any more); or why the client got an error: full (too many waited), died (the thread did), fault.',
  ),
  imbalance: gauge(
    'gateway_ledger_imbalance_cny',
    [],
    'Amount by which the books do not balance, by the latest audit.',
    {
      aggregator: 'max',
      money: true,
    },
  ),
  creditsByHand: gauge(
    'gateway_credits_by_hand_cny',
    [],
    'Payments that were credited because a person decided so, without a proof of their provider, by the latest audit.',
    { aggregator: 'max', money: true },
  ),
  payCallbacks: counter(
    'gateway_pay_callbacks_total',
    ['method', 'verdict'],
    'Callbacks of payment providers. `verdict`: taken, early (it must come again), failed, slow; or why it was not believed: signature, age, key, form, probe.',
  ),
  payCreditAge: histogram(
    'gateway_pay_credit_seconds',
    ['method'],
    'Time from the proof of a payment until the account was credited.',
  ),
  payRepairs: counter(
    'gateway_pay_repairs_total',
    ['method', 'source'],
    'Payments that were found by asking (query, bill), because no callback had come, and transfers in USDT that were missed at first (chain).',
  ),
  payExceptions: counter(
    'gateway_pay_exceptions_total',
    ['method', 'kind'],
    'Payments and refunds that did not fit, and wait for a person.',
  ),
  payOpen: gauge(
    'gateway_pay_open',
    ['what'],
    'What waits: exceptions for a person, orders that are paid and not credited though they should be (uncredited), and orders that are held.',
    { aggregator: 'max' },
  ),
  payChain: gauge(
    'gateway_pay_chain',
    ['what'],
    'The chain on which USDT is paid: head_block (the newest block), finalized_lag_blocks (how far finality is behind it), cursor_lag_seconds (age of the last block that was read).',
    { aggregator: 'max' },
  ),
  payCertificate: gauge(
    'gateway_pay_certificate_seconds',
    ['method'],
    'Time until the first certificate of a way to pay ends; below 0 when it has ended. Ways to pay without certificates have no value.',
    { aggregator: 'max' },
  ),
  payEndpointErrors: counter(
    'gateway_pay_endpoint_errors_total',
    ['endpoint', 'kind'],
    'Questions to the nodes of `pay.usdt.endpoints`, numbered from 1, that failed. `kind`: away, refused.',
  ),
  adminRefused: counter(
    'gateway_admin_refused_total',
    ['reason'],
    'Calls of the admin API that were not let in: token (a wrong one, or none) or throttled (too many wrong ones from that network).',
  ),
  consoleRequests: counter(
    'gateway_console_requests_total',
    ['operation', 'status'],
    'Calls of the console’s API. `operation` is `none` where there is no such call. Status 499: the caller left before the answer.',
  ),
  ready: gauge('gateway_ready', [], 'Whether new requests can be served, as `/readyz` says: 1 yes, 0 no.', {
    aggregator: 'max',
  }),
  buildInfo: gauge(
    'gateway_build_info',
    ['version', 'node'],
    'Always 1: which version of the gateway runs, on which Node.',
    {
      aggregator: 'max',
    },
  ),
  reloadSuccess: gauge(
    'gateway_config_reload_success',
    [],
    'Whether the config that was read last is in force: 0 after a reload that was refused.',
    { aggregator: 'max' },
  ),
  reloadTime: gauge(
    'gateway_config_reload_timestamp_seconds',
    [],
    'When the config that is in force was read, at the start or by a reload; in s since 1970.',
    { aggregator: 'max' },
  ),
  time: gauge('gateway_time_seconds', [], 'What the clock of this machine says, in s since 1970.', {
    aggregator: 'max',
  }),
  diskFree: gauge(
    'gateway_disk_free_bytes',
    ['what'],
    'What is free on the disk of the journal, and on that of the embedded store.',
    { aggregator: 'max' },
  ),
  backupTime: gauge(
    'gateway_backup_timestamp_seconds',
    [],
    'When `gateway backup` made its last copy of the embedded store, in s since 1970; absent = it has made none here.',
    { aggregator: 'max' },
  ),
} as const satisfies Record<string, MetricRow>
