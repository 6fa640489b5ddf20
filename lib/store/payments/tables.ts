/**
 * The tables of money that comes in. `lib/terms/pay.ts` and `lib/terms/chain.ts` say what their rows mean. `pay_proofs` is
 * evidence: rows are only ever inserted. Amounts of tokens are texts, because 10 USDT are more of their smallest unit than a 64-bit
 * integer holds.
 */
import type { Table } from '../base/tables.ts'

const PAY_ORDERS: Table = {
  name: 'pay_orders',
  columns: {
    id: 'code',
    reference: 'name',
    account_id: 'int',
    user_id: 'int?',
    method: 'code',
    amount: 'int',
    asked: 'int',
    tokens: 'name?',
    currency: 'code',
    rate: 'int?',
    merchant: 'name',
    provider_id: 'name?',
    shown: 'doc?',
    state: 'code',
    sandbox: 'int',
    late: 'int',
    credited: 'int',
    refunded: 'int',
    frozen: 'int',
    reversed: 'int',
    created_at_ms: 'int',
    expires_at_ms: 'int',
    paid_at_ms: 'int?',
    held_until_ms: 'int?',
    credited_at_ms: 'int?',
    check_at_ms: 'int?',
    checks: 'int',
  },
  key: ['id'],
  unique: [['reference']],
  index: [
    ['account_id', 'created_at_ms', 'id'],
    ['account_id', 'state'],
    ['method', 'state'],
    ['state', 'created_at_ms', 'id'],
    ['check_at_ms'],
    ['method', 'provider_id'],
  ],
}

const PAY_PROOFS: Table = {
  name: 'pay_proofs',
  columns: {
    method: 'code',
    transaction_id: 'name',
    order_id: 'code',
    amount: 'int',
    currency: 'code',
    source: 'code',
    digest: 'code',
    paid_at_ms: 'int?',
    at_ms: 'int',
    actor: 'name',
    note: 'doc',
  },
  key: ['method', 'transaction_id'],
  index: [['order_id']],
}

const PAY_REFUNDS: Table = {
  name: 'pay_refunds',
  columns: {
    method: 'code',
    id: 'name',
    order_id: 'code',
    account_id: 'int',
    kind: 'code',
    amount: 'int',
    asked: 'int?',
    state: 'code',
    provider_id: 'name?',
    receiver: 'code?',
    tx: 'name?',
    reason: 'doc',
    actor: 'name',
    ending: 'doc',
    at_ms: 'int',
    ended_at_ms: 'int?',
    check_at_ms: 'int?',
    checks: 'int',
  },
  key: ['method', 'id'],
  unique: [['method', 'tx']],
  index: [['order_id'], ['account_id', 'state'], ['state', 'at_ms'], ['check_at_ms'], ['kind', 'at_ms']],
}

const PAY_EXCEPTIONS: Table = {
  name: 'pay_exceptions',
  columns: {
    id: 'auto',
    method: 'code',
    kind: 'code',
    reference: 'name',
    order_id: 'code?',
    transaction_id: 'name?',
    amount: 'int?',
    currency: 'code?',
    detail: 'doc',
    at_ms: 'int',
    due_at_ms: 'int?',
    resolved_at_ms: 'int?',
    resolved_by: 'name?',
    resolution: 'doc?',
  },
  key: ['id'],
  unique: [['method', 'kind', 'reference']],
  index: [['resolved_at_ms', 'id'], ['order_id'], ['kind', 'at_ms']],
}

/** Ids of a provider's events that have been dealt with. They are kept for some weeks. */
const PAY_INBOX: Table = {
  name: 'pay_inbox',
  columns: { method: 'code', event_id: 'name', at_ms: 'int' },
  key: ['method', 'event_id'],
  index: [['at_ms']],
}

/** When something last went well, such as a callback or a bill; and how far a method has read a list of the provider's. */
const PAY_MARKS: Table = {
  name: 'pay_marks',
  columns: { method: 'code', what: 'code', at_ms: 'int', value: 'name' },
  key: ['method', 'what'],
}

/** What a unit of a currency is worth. Rows are only ever inserted; the newest one of a currency counts until its end. */
const PAY_RATES: Table = {
  name: 'pay_rates',
  columns: { id: 'auto', currency: 'code', rate: 'int', from_ms: 'int', until_ms: 'int', actor: 'name' },
  key: ['id'],
  index: [['currency', 'from_ms', 'id']],
}

/** How many addresses of a chain have been issued: the next one gets this number. */
const CHAIN_COUNTERS: Table = {
  name: 'chain_counters',
  columns: { chain_id: 'int', issued: 'int' },
  key: ['chain_id'],
}

const CHAIN_ADDRESSES: Table = {
  name: 'chain_addresses',
  columns: {
    chain_id: 'int',
    number: 'int',
    wallet: 'code',
    account_id: 'int',
    address: 'code',
    from_block: 'int',
    watched: 'int',
    at_ms: 'int',
  },
  key: ['chain_id', 'number'],
  unique: [
    ['chain_id', 'wallet', 'account_id'],
    ['chain_id', 'address'],
  ],
}

/** Which process reads a chain, and until when nobody else does. */
const CHAIN_LEASES: Table = {
  name: 'chain_leases',
  columns: { chain_id: 'int', holder: 'code', until_ms: 'int' },
  key: ['chain_id'],
}

/** How far a chain has been read. */
const CHAIN_CURSORS: Table = {
  name: 'chain_cursors',
  columns: {
    chain_id: 'int',
    block_no: 'int',
    block_hash: 'name',
    block_at_ms: 'int',
    second_no: 'int',
    second_to_no: 'int',
    second_to_hash: 'name',
    second_at_ms: 'int',
    sweep_no: 'int',
  },
  key: ['chain_id'],
}

/** Where the transfer stands on the chain that an order was made of. Rows are never deleted. */
const CHAIN_TRANSFERS: Table = {
  name: 'chain_transfers',
  columns: {
    seq: 'auto',
    order_id: 'code',
    chain_id: 'int',
    tx: 'name',
    log_index: 'int',
    address: 'code',
    sender: 'code',
    block_no: 'int',
    block_hash: 'name',
    block_at_ms: 'int',
    node: 'int',
    quoted: 'name',
    quoted_rate: 'int?',
  },
  key: ['seq'],
  unique: [['order_id'], ['chain_id', 'tx', 'log_index']],
  index: [
    ['chain_id', 'address'],
    ['chain_id', 'block_no'],
  ],
}

/** Transfers that no final block has yet. They are shown, and the rows are replaced whenever the newest blocks are read. */
const CHAIN_SEEN: Table = {
  name: 'chain_seen',
  columns: { chain_id: 'int', tx: 'name', log_index: 'int', account_id: 'int', value: 'name', block_no: 'int' },
  key: ['chain_id', 'tx', 'log_index'],
  index: [['account_id']],
}

/** Transfers out of the addresses, by which their balances are checked. */
const CHAIN_SWEEPS: Table = {
  name: 'chain_sweeps',
  columns: { chain_id: 'int', tx: 'name', log_index: 'int', address: 'code', value: 'name', block_no: 'int' },
  key: ['chain_id', 'tx', 'log_index'],
  index: [['chain_id', 'address']],
}

const CHAIN_QUOTES: Table = {
  name: 'chain_quotes',
  columns: {
    id: 'auto',
    account_id: 'int',
    amount: 'int',
    wei: 'name',
    rate: 'int',
    from_ms: 'int',
    until_ms: 'int',
    used: 'int',
  },
  key: ['id'],
  index: [['account_id', 'id']],
}

export const PAY_TABLES = [
  PAY_ORDERS,
  PAY_PROOFS,
  PAY_REFUNDS,
  PAY_EXCEPTIONS,
  PAY_INBOX,
  PAY_MARKS,
  PAY_RATES,
  CHAIN_COUNTERS,
  CHAIN_ADDRESSES,
  CHAIN_LEASES,
  CHAIN_CURSORS,
  CHAIN_TRANSFERS,
  CHAIN_SEEN,
  CHAIN_SWEEPS,
  CHAIN_QUOTES,
]
