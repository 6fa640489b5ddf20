/** The commands that are calls of the admin API, as a table; `call-commands.ts` makes commands of its rows. */
import { add, formatMicro, parseMicro, ZERO } from '../base/money.ts'
import type { CommandOutput } from './output.ts'
import { changesTable, historyTable, listTable, oneTable } from './price-tables.ts'

type Fields = Record<string, unknown>

export interface CallCommand {
  /**
   * What is typed: the noun, the verb and the arguments. The first arguments are the parts of the path, in its order; the others
   * are fields of the body.
   */
  typed: string
  /** Id of the row of the admin API. */
  call: string
  /** Other rows, by the option that asks for them. */
  instead?: Record<string, string>
  /** The command's help. Commands without a noun have theirs in the list of commands. */
  says?: string
  /** What its help says behind the options. */
  help?: string
  /**
   * Fields of a row that a list shows, the most important first, or fields of fields; `field=head` is one under another head. They may
   * depend on the fields that are sent.
   */
  columns?: string | ((asked: Fields) => string)
  /** What people are told below the rows of a list: what they mean together, and which command goes on from there. */
  tells?: (rows: readonly Fields[], asked: Fields) => string[]
  /** What people see of an answer, where it is neither a list nor the fields of a row. */
  shows?: (answer: never, args: Record<string, unknown>, terminal: boolean) => CommandOutput
  /** Fields that the command itself says. */
  fixed?: Record<string, unknown>
  /** Fields that count unless they are given, or JSON is wanted. */
  defaults?: Record<string, unknown>
  /** The last argument is a list of NAME=VALUE, which become this field of the body. */
  assigns?: string
  /**
   * `create`: a row of the catalogue that must not be there yet; `edit`: the fields that are given change, and the others stay;
   * `destroy`: asks before it does so.
   */
  manner?: 'create' | 'edit' | 'destroy'
  /**
   * Only a gateway that runs knows, or can do it. Without `--url`, it is the one whose ops address the config names; `if any`: where
   * that does not answer, what the store knows is enough.
   */
  live?: 'always' | 'if any'
}

const ofCatalogue = (kind: string, columns: string): CallCommand[] => {
  const one = kind.slice(0, -1)
  return [
    { typed: `${kind} list`, call: `${kind}.list`, says: `print all ${kind}`, columns },
    { typed: `${kind} show <name>`, call: `${kind}.show`, says: `print a ${one}` },
    { typed: `${kind} create <name>`, call: `${kind}.put`, says: `make a ${one}`, manner: 'create' },
    {
      typed: `${kind} set <name>`,
      call: `${kind}.put`,
      says: `change the fields of a ${one} that are given`,
      manner: 'edit',
    },
    { typed: `${kind} delete <name>`, call: `${kind}.remove`, says: `delete a ${one}`, manner: 'destroy' },
  ]
}

const ACCOUNTS: readonly CallCommand[] = [
  {
    typed: 'accounts list',
    call: 'accounts.list',
    says: 'print all accounts, oldest first',
    columns: 'name status groups balance held available',
  },
  { typed: 'accounts show <name>', call: 'accounts.show', says: 'print an account' },
  { typed: 'accounts create <name>', call: 'accounts.create', says: 'make an account' },
  { typed: 'accounts set <name>', call: 'accounts.change', says: 'change the fields of an account that are given' },
  {
    typed: 'accounts ban <name>',
    call: 'accounts.change',
    says: 'refuse all requests of an account',
    fixed: { status: 'banned' },
  },
  {
    typed: 'accounts unban <name>',
    call: 'accounts.change',
    says: 'let an account in again',
    fixed: { status: 'active' },
  },
  {
    typed: 'accounts topup <name> <amount> <reference>',
    call: 'entries.topUp',
    says: 'credit an amount of CNY, once for each reference',
  },
  {
    typed: 'accounts adjust <name> <amount> <reference>',
    call: 'entries.adjust',
    says: 'add an amount to the balance, or take it away, once for each reference',
  },
  {
    typed: 'accounts entries <name>',
    call: 'entries.list',
    says: 'print the entries and charges of an account, newest first',
    columns: 'booked_at kind amount balance reference actor note',
  },
  { typed: 'statement <account>', call: 'statements.read', defaults: { format: 'csv' } },
  {
    typed: 'keys list',
    call: 'keys.list',
    says: 'print keys, oldest first',
    columns: 'id account name group status hint used expires_at last_used_at',
  },
  { typed: 'keys create <account> <name>', call: 'keys.create', says: 'make a key; its secret is printed once' },
  {
    typed: 'keys set <id>',
    call: 'keys.change',
    says: 'change the fields of a key that are given; null removes a value',
  },
  { typed: 'keys roll <id>', call: 'keys.roll', says: 'give a key another secret, which is printed once' },
  { typed: 'keys delete <id>', call: 'keys.remove', says: 'delete a key', manner: 'destroy' },
]

const LIVE_CHANNEL = { says: 'print a channel, its state and its last failures', live: 'if any' } as const
const LIVE_CHANNELS = {
  says: 'print all channels: their state, and their failures of the last hour',
  live: 'if any',
  tells: rows =>
    rows.some(({ health }) => Object.keys((health as { lately?: object } | null)?.lately ?? {}).length > 0)
      ? ['gateway channels show NAME: its last failures; docs/operating.md says what each class means']
      : [],
} satisfies Partial<CallCommand>

const CHANNELS: readonly CallCommand[] = [
  ...ofCatalogue(
    'channels',
    'name state health.why=why health.lately=failures balance.amount balance.currency balance.state kind protocols groups models',
  ).map(row => ({
    ...row,
    ...(row.call === 'channels.show' ? LIVE_CHANNEL : row.call === 'channels.list' ? LIVE_CHANNELS : {}),
  })),
  {
    typed: 'channels test <name>',
    call: 'channels.test',
    says: 'ask the upstream for each model on each protocol, with the shortest request; it may charge some tokens',
    columns: 'model protocol ok class status first_byte_ms error reason upstream_id',
    live: 'always',
  },
  {
    typed: 'channels rest <name>',
    call: 'channels.rest',
    says: 'send a channel no requests for a while',
    live: 'always',
  },
  {
    typed: 'channels wake <name>',
    call: 'channels.wake',
    says: 'end the rests of a channel and of its keys',
    live: 'always',
  },
]

const USERS: readonly CallCommand[] = [
  {
    typed: 'users list',
    call: 'users.list',
    says: 'print all users',
    columns: 'id email name status operator second_factor',
  },
  { typed: 'users show <user>', call: 'users.show', says: 'print a user, by e-mail or id, and the accounts it is in' },
  {
    typed: 'users invite',
    call: 'users.invite',
    says: 'make a link by which somebody becomes a user; it works once, for 72 hours',
  },
  {
    typed: 'users invitations',
    call: 'users.invitations',
    says: 'print invitations into no account that nobody has used yet',
    columns: 'id email role expires_at created_at',
  },
  { typed: 'users uninvite <invitation>', call: 'users.revoke_invitation', says: 'withdraw such an invitation' },
  {
    typed: 'users disable <user>',
    call: 'users.change',
    says: 'keep a user out: all sessions of the user end, and the keys that it made are disabled',
    fixed: { status: 'disabled' },
    manner: 'destroy',
  },
  {
    typed: 'users enable <user>',
    call: 'users.change',
    says: 'let a user in again',
    fixed: { status: 'active' },
  },
  { typed: 'users end-sessions <user>', call: 'users.end_sessions', says: 'end all sessions of a user' },
  {
    typed: 'users reset <user>',
    call: 'users.reset',
    says: 'make a link by which a user chooses a new password; it works once, for 24 hours',
  },
  {
    typed: 'users factor-reset <user>',
    call: 'users.factor_reset',
    says: 'switch off the second factor of a user who lost it; all sessions end',
    manner: 'destroy',
  },
]

const PATHS = `
A price is named as in the catalogue: input, output, cache_read, cache_write_5m, cache_write_1h, input_audio,
output_audio, input_image, output_image, cache_read_audio, cache_read_image, image, request, web_search, second,
character, maps, code_execution, search_unit. Within maps and lists: image.1024x1536, container.4g, tools.NAME, tiers.priority,
over.200000.input.
PRICE= without an amount takes the price away.

  bin/gateway prices set alpha-sonnet-5-5 input=21 output=105 over.200000.input=42 over.200000.output=157.5`

const PRICES: readonly CallCommand[] = [
  { typed: 'prices list', call: 'prices.at', says: 'list what all models cost', shows: listTable },
  {
    typed: 'prices show <model>',
    call: 'prices.history',
    says: 'show every price of a model',
    fixed: { limit: 1 },
    shows: oneTable,
  },
  {
    typed: 'prices history <model>',
    call: 'prices.history',
    says: 'show the prices that a model has had, newest first, also of a deleted model',
    shows: historyTable,
  },
  {
    typed: 'prices set <model> <price=amount...>',
    call: 'prices.set',
    says: 'change some prices of a model; the others stay',
    assigns: 'changes',
    help: PATHS,
    shows: changesTable,
  },
  {
    typed: 'groups multipliers <name>',
    call: 'prices.multipliers',
    says: 'print the multipliers that a group has had, newest first',
    columns: 'version at until actor multiplier',
  },
]

/** A cost is part of what is known; the share tells a small cost from one that nobody knows. */
const TOTALS = 'charge cost margin cost_known_share=cost_known requests errors input cache_read output pieces'
const REQUEST = 'at account model charge request_id status outcome channel input cache_read output pieces cost key'

/** All rows of totals together. A margin and the cost below it are those of requests whose cost is known. */
function totalOf(rows: readonly Fields[], isFrom: boolean): string {
  const sum = (name: string) => rows.reduce((all, row) => add(all, parseMicro(row[name]) ?? ZERO), ZERO)
  const [charge, cost, margin] = [sum('charge'), sum('cost'), sum('margin')]
  const known =
    charge === 0 ? '' : `; the cost of ${(((cost + margin) / charge) * 100).toFixed(1)} % of the charge is known`
  const money = `charge ${formatMicro(charge)}, cost ${formatMicro(cost)}, margin ${formatMicro(margin)}${known}`
  return `in all${isFrom ? '' : ', since ever (--from TIME: since then)'}: ${money}`
}

/** Each reason among the refusals once, in words. */
const reasonsOf = (rows: readonly Fields[]): string[] => [
  ...new Set(rows.map(({ reason, why, todo }) => `${reason}: ${why} ${todo}`)),
  'gateway requests show ID: one of them whole; gateway accounts show NAME, gateway keys list --account NAME: what there is to mend',
]

const COUNT_BY =
  '--by account, --by key, --by address: who was refused; gateway refusals list: which, and what mends it'

/** What to look at next, and what stops a sender, by what the list is of. */
const SENDERS: Readonly<Record<string, string>> = {
  account:
    'figures of a minute. gateway accounts ban NAME stops one; --by key, --by address: the same of these; gateway refusals count --by address: who tries keys; gateway doctor: who tries admin tokens',
  key: 'figures of a minute. gateway keys set ID --status disabled stops one',
  address: 'figures of a minute. gateway refusals count --by address: who tries keys',
}

const USAGE: readonly CallCommand[] = [
  {
    typed: 'usage',
    call: 'usage.list',
    instead: { by: 'usage.summary', csv: 'usage.csv', jsonl: 'usage.jsonl' },
    columns: ({ by }) => (by === undefined ? REQUEST : `${String(by).replaceAll(',', ' ')} ${TOTALS}`),
    tells: (rows, { by, from }) => (by === undefined ? [] : [totalOf(rows, from !== undefined)]),
  },
  {
    typed: 'requests list',
    call: 'usage.list',
    says: 'print settled requests, newest first',
    columns: 'at account model charge request_id status end channel',
  },
  {
    typed: 'requests show <id>',
    call: 'requests.show',
    says: 'print a request with what its charge is made of, or why it was refused',
  },
  {
    typed: 'requests dispute <id>',
    call: 'disputes.decide',
    says: 'decide about the part of a report that was not charged: --settle charge or waive',
  },
  {
    typed: 'refusals list',
    call: 'refusals.list',
    says: 'print refused requests of known keys, newest first',
    columns: 'request_id at account key reason model address',
    tells: reasonsOf,
  },
  {
    typed: 'refusals count',
    call: 'refusals.counts',
    says: 'count all refusals by reason, account, key or address',
    columns: 'account key address reason count error=at_most_too_many',
    tells: (_, { by }) => [
      by === undefined ? COUNT_BY : 'gateway refusals list --account NAME, --key ID or --address IP: which',
    ],
  },
  {
    typed: 'senders list',
    call: 'senders.list',
    says: 'print who sends more than usual: figures of a minute',
    columns:
      'account key address requests requests_usual=usual refused refused_usual=usual times charge charge_usual=usual',
    tells: (_, { by = 'account' }) => [SENDERS[String(by)] as string],
  },
  {
    typed: 'actions list',
    call: 'actions.list',
    says: 'print who changed what, newest first',
    columns: 'at actor operation account subject',
  },
]

const ORDERS: readonly CallCommand[] = [
  {
    typed: 'orders list',
    call: 'payments.orders',
    says: 'print orders, newest first; --sort created: oldest first',
    columns: 'id account state amount method credited created_at refunded frozen held_until',
  },
  {
    typed: 'orders show <order>',
    call: 'payments.order',
    says: 'print an order with its proofs, refunds and exceptions',
  },
  {
    typed: 'orders refund <order>',
    call: 'payments.refund',
    says: 'send money of an order back to the payer; it is frozen before the provider is asked',
  },
  {
    typed: 'orders release <order>',
    call: 'payments.release',
    says: 'credit an order now that is paid and held, or waits for others of its account',
  },
  {
    typed: 'orders exceptions',
    call: 'payments.exceptions',
    says: 'print what does not fit and waits for a person, newest first',
    columns: 'id order kind amount credit detail method due_at currency at',
  },
  {
    typed: 'orders resolve <exception>',
    call: 'payments.resolve',
    says: 'credit what was received, or close an exception: --action credit or close',
  },
  {
    typed: 'orders to-send',
    call: 'payments.to_send',
    says: 'print refunds of USDT whose tokens nobody has said to be sent',
    columns: 'id order amount tokens receiver at reason',
  },
  {
    typed: 'orders sent <refund>',
    call: 'payments.refund_end',
    says: 'end a refund of USDT: the transaction that sent the tokens, or why they are not sent',
  },
  {
    typed: 'orders addresses',
    call: 'payments.addresses',
    says: 'print the addresses of USDT for sweeping, as CSV',
  },
  {
    typed: 'orders rewind',
    call: 'payments.rewind',
    says: 'set back how far the chain is read, to a block that is final at both nodes',
  },
  { typed: 'pay status', call: 'payments.read', says: 'print how payments stand, and how each way to pay fares' },
  {
    typed: 'pay rates',
    call: 'payments.rates',
    says: 'print the rates of the currencies of ways to pay, newest first',
    columns: 'currency rate from until in_force by',
  },
  {
    typed: 'pay set-rate <currency> <rate>',
    call: 'payments.set_rate',
    says: 'set the rate of a currency from now on, for a time',
    columns: 'currency rate from until in_force by',
  },
]

export const COMMANDS: readonly CallCommand[] = [
  ...ACCOUNTS,
  ...ofCatalogue('models', 'name family price offline'),
  ...ofCatalogue('groups', 'name multiplier public rate'),
  ...CHANNELS,
  ...USERS,
  ...PRICES,
  ...USAGE,
  ...ORDERS,
  { typed: 'export', call: 'catalogue.export' },
]
