/** Rows of the tables of deposits as the records that the program works with. */
import type { ChainCursor, Deposit, DepositAddress, DepositRefund, DepositState, Quote } from '../../terms/deposits.ts'
import type { Row } from '../base/driver.ts'
import { big, integer, integerOrNull, money, text, textOrNull } from '../base/text.ts'

export const toAddress = (row: Row): DepositAddress => ({
  chainId: integer(row, 'chain_id'),
  number: integer(row, 'number'),
  wallet: text(row, 'wallet'),
  accountId: integer(row, 'account_id'),
  address: text(row, 'address'),
  fromBlock: integer(row, 'from_block'),
  watched: integer(row, 'watched') === 1,
  atMs: integer(row, 'at_ms'),
})

export const toCursor = (row: Row): ChainCursor => ({
  chainId: integer(row, 'chain_id'),
  no: integer(row, 'block_no'),
  hash: text(row, 'block_hash'),
  blockAtMs: integer(row, 'block_at_ms'),
  secondNo: integer(row, 'second_no'),
  secondTo: { no: integer(row, 'second_to_no'), hash: text(row, 'second_to_hash') },
  secondAtMs: integer(row, 'second_at_ms'),
  sweepNo: integer(row, 'sweep_no'),
})

export const toDeposit = (row: Row): Deposit => ({
  id: integer(row, 'id'),
  chainId: integer(row, 'chain_id'),
  tx: text(row, 'tx'),
  logIndex: integer(row, 'log_index'),
  accountId: integer(row, 'account_id'),
  to: text(row, 'address'),
  from: text(row, 'sender'),
  value: big(row, 'value'),
  block: { no: integer(row, 'block_no'), hash: text(row, 'block_hash') },
  blockAtMs: integer(row, 'block_at_ms'),
  node: integer(row, 'node'),
  state: text(row, 'state') as DepositState,
  quoted: big(row, 'quoted'),
  quotedRate: integerOrNull(row, 'quoted_rate'),
  rate: integerOrNull(row, 'rate'),
  credited: money(row, 'credited'),
  atMs: integer(row, 'at_ms'),
  creditedAtMs: integerOrNull(row, 'credited_at_ms'),
  checks: integer(row, 'checks'),
  decidedBy: textOrNull(row, 'decided_by'),
  decision: textOrNull(row, 'decision'),
})

export const toDepositRefund = (row: Row): DepositRefund => ({
  id: text(row, 'id'),
  chainId: integer(row, 'chain_id'),
  depositId: integer(row, 'deposit_id'),
  accountId: integer(row, 'account_id'),
  amount: money(row, 'amount'),
  value: big(row, 'value'),
  receiver: text(row, 'receiver'),
  state: text(row, 'state') as DepositRefund['state'],
  tx: textOrNull(row, 'tx'),
  reason: text(row, 'reason'),
  actor: text(row, 'actor'),
  ending: text(row, 'ending'),
  atMs: integer(row, 'at_ms'),
  endedAtMs: integerOrNull(row, 'ended_at_ms'),
})

export const toQuote = (row: Row): Quote => ({
  id: integer(row, 'id'),
  accountId: integer(row, 'account_id'),
  amount: money(row, 'amount'),
  wei: big(row, 'wei'),
  rate: integer(row, 'rate'),
  fromMs: integer(row, 'from_ms'),
  untilMs: integer(row, 'until_ms'),
  used: integer(row, 'used') === 1,
})
