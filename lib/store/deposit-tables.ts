/**
 * The tables of deposits on a chain. `lib/terms/deposits.ts` says what their rows mean. Amounts of tokens are texts, because
 * 10 USDT are more of their smallest unit than a 64-bit integer holds.
 */
import type { Table } from './base/tables.ts'

/** How many addresses of a chain have been issued: the next one gets this number. */
export const DEPOSIT_COUNTERS: Table = {
  name: 'deposit_counters',
  columns: { chain_id: 'int', issued: 'int' },
  key: ['chain_id'],
}

export const DEPOSIT_ADDRESSES: Table = {
  name: 'deposit_addresses',
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
export const CHAIN_LEASES: Table = {
  name: 'chain_leases',
  columns: { chain_id: 'int', holder: 'code', until_ms: 'int' },
  key: ['chain_id'],
}

/** How far a chain has been read. */
export const CHAIN_CURSORS: Table = {
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

/** Rows are never deleted. `worth`: see `depositWorth`. */
export const CHAIN_DEPOSITS: Table = {
  name: 'chain_deposits',
  columns: {
    id: 'auto',
    chain_id: 'int',
    tx: 'name',
    log_index: 'int',
    account_id: 'int',
    address: 'code',
    sender: 'code',
    value: 'name',
    block_no: 'int',
    block_hash: 'name',
    block_at_ms: 'int',
    node: 'int',
    state: 'code',
    quoted: 'name',
    quoted_rate: 'int?',
    rate: 'int?',
    worth: 'int?',
    credited: 'int',
    at_ms: 'int',
    credited_at_ms: 'int?',
    checks: 'int',
    decided_by: 'name?',
    decision: 'doc?',
  },
  key: ['id'],
  unique: [['chain_id', 'tx', 'log_index']],
  index: [
    ['account_id', 'id'],
    ['account_id', 'state'],
    ['state', 'id'],
    ['chain_id', 'address', 'id'],
    ['chain_id', 'block_no'],
  ],
}

/** Transfers that no final block has yet. They are shown, and the rows are replaced whenever the newest blocks are read. */
export const CHAIN_SEEN: Table = {
  name: 'chain_seen',
  columns: { chain_id: 'int', tx: 'name', log_index: 'int', account_id: 'int', value: 'name', block_no: 'int' },
  key: ['chain_id', 'tx', 'log_index'],
  index: [['account_id']],
}

/** Transfers out of the addresses, by which their balances are checked. */
export const CHAIN_SWEEPS: Table = {
  name: 'chain_sweeps',
  columns: { chain_id: 'int', tx: 'name', log_index: 'int', address: 'code', value: 'name', block_no: 'int' },
  key: ['chain_id', 'tx', 'log_index'],
  index: [['chain_id', 'address']],
}

export const DEPOSIT_QUOTES: Table = {
  name: 'deposit_quotes',
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

/** Tokens that operators send back. A transaction counts for one refund only. */
export const DEPOSIT_REFUNDS: Table = {
  name: 'deposit_refunds',
  columns: {
    id: 'code',
    chain_id: 'int',
    deposit_id: 'int',
    account_id: 'int',
    amount: 'int',
    value: 'name',
    receiver: 'code',
    state: 'code',
    tx: 'name?',
    reason: 'doc',
    actor: 'name',
    ending: 'doc',
    at_ms: 'int',
    ended_at_ms: 'int?',
  },
  key: ['id'],
  unique: [['chain_id', 'tx']],
  index: [['deposit_id'], ['state', 'at_ms']],
}

export const DEPOSIT_TABLES = [
  DEPOSIT_COUNTERS,
  DEPOSIT_ADDRESSES,
  CHAIN_LEASES,
  CHAIN_CURSORS,
  CHAIN_DEPOSITS,
  CHAIN_SEEN,
  CHAIN_SWEEPS,
  DEPOSIT_QUOTES,
  DEPOSIT_REFUNDS,
]
