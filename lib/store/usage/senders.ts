/**
 * Who sends requests at the moment, and how many on usual days: accounts and keys, each compared with itself. Two ranges of the
 * sums of usage are read, the last hours by the hour and the days before by the day.
 */
import type { Driver, Row } from '../base/driver.ts'
import { count, integer } from '../base/text.ts'
import type { Sender, SendersQuery } from './queries.ts'
import { DAY_HOURS, GRAIN, dayOf, hourOf } from './sums.ts'

const BY = {
  account: { id: 'account_id', hours: GRAIN.accountHour, days: GRAIN.accountDay },
  key: { id: 'key_id', hours: GRAIN.hour, days: GRAIN.keyDay },
} as const

/** Every sender of the hours since `nowFromMs`, with what it sent then and on the days of the week before on which it sent. */
export const senders = (driver: Driver, { by, nowMs, nowFromMs, days }: SendersQuery): Promise<Sender[]> =>
  driver.snapshot('senders', async tx => {
    const { id, hours, days: grain } = BY[by]
    const sums = `${id} AS id, SUM(requests) AS requests, SUM(charge) AS charge`
    const range = 'FROM usage_sums WHERE grain = ? AND hour_no >= ?'
    const present = await tx.query(`SELECT ${sums} ${range} GROUP BY ${id}`, [hours, hourOf(nowFromMs)])
    const today = dayOf(hourOf(nowMs))
    const before = await tx.query(
      `SELECT ${sums}, COUNT(DISTINCT hour_no) AS days ${range} AND hour_no < ? GROUP BY ${id}`,
      [grain, today - days * DAY_HOURS, today],
    )
    const usual = new Map(before.map(row => [integer(row, 'id'), { ...sentOf(row), days: count(row, 'days') }]))
    return present.map(row => ({ id: integer(row, 'id'), ...sentOf(row), usual: usual.get(integer(row, 'id')) ?? null }))
  })

const sentOf = (row: Row) => ({ requests: count(row, 'requests'), charge: count(row, 'charge') })
