/**
 * The tables of money that comes in. `lib/terms/pay.ts` says what their rows mean. `pay_proofs` is evidence: rows are only
 * ever inserted.
 */
import type { Table } from './base/tables.ts'

export const PAY_ORDERS: Table = {
  name: 'pay_orders',
  columns: {
    id: 'code',
    account_id: 'int',
    user_id: 'int?',
    method: 'code',
    amount: 'int',
    asked: 'int',
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
  index: [
    ['account_id', 'created_at_ms', 'id'],
    ['state', 'created_at_ms', 'id'],
    ['check_at_ms'],
    ['method', 'provider_id'],
  ],
}

export const PAY_PROOFS: Table = {
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

export const PAY_REFUNDS: Table = {
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
    reason: 'doc',
    actor: 'name',
    at_ms: 'int',
    ended_at_ms: 'int?',
    check_at_ms: 'int?',
    checks: 'int',
  },
  key: ['method', 'id'],
  index: [['order_id'], ['account_id', 'state'], ['check_at_ms'], ['kind', 'at_ms']],
}

export const PAY_EXCEPTIONS: Table = {
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
export const PAY_INBOX: Table = {
  name: 'pay_inbox',
  columns: { method: 'code', event_id: 'name', at_ms: 'int' },
  key: ['method', 'event_id'],
  index: [['at_ms']],
}

/** When something last went well, such as a callback or a bill; and how far a method has read a list of the provider's. */
export const PAY_MARKS: Table = {
  name: 'pay_marks',
  columns: { method: 'code', what: 'code', at_ms: 'int', value: 'name' },
  key: ['method', 'what'],
}

/** What a unit of a currency is worth. Rows are only ever inserted; the newest one of a currency counts until its end. */
export const PAY_RATES: Table = {
  name: 'pay_rates',
  columns: { id: 'auto', currency: 'code', rate: 'int', from_ms: 'int', until_ms: 'int', actor: 'name' },
  key: ['id'],
  index: [['currency', 'from_ms', 'id']],
}

export const PAY_TABLES = [PAY_ORDERS, PAY_PROOFS, PAY_REFUNDS, PAY_EXCEPTIONS, PAY_INBOX, PAY_MARKS, PAY_RATES]
