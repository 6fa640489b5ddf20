/** Rows of the catalogue as people write them, and as the store keeps them. */
import type { z } from 'zod'
import type { Channel, Group, Model, Price } from '../../terms/records.ts'
import { AdminError } from '../answer.ts'
import { channelRow, groupRow, modelRow } from './forms.ts'
import { read } from './read.ts'

const MICROS = 1_000_000
const decimal = (millionths: number): number => millionths / MICROS

export function readGroup(sent: object): Group {
  const { name, multiplier, rate } = read(groupRow, sent)
  return { name, multiplier, rate: rate ?? null }
}

export const showGroup = ({ name, multiplier, rate }: Group): object => ({
  name,
  multiplier: decimal(multiplier),
  rate,
})

export function readModel(sent: object): Model {
  const row = read(modelRow, sent)
  return {
    name: row.name,
    price: row.price === undefined ? null : readPrice(row.price),
    maxOutput: row.max_output ?? null,
    defaultOutput: row.default_output,
    inputFactor: row.input_factor,
  }
}

type SentPrice = NonNullable<z.output<typeof modelRow>['price']>

function readPrice(price: SentPrice): Price {
  const set = Object.entries(price).filter(([, value]) => value !== undefined)
  if (set.length === 0) throw new AdminError(400, 'price: expected at least one price')
  return Object.fromEntries(set)
}

export const showModel = ({ name, price, maxOutput, defaultOutput, inputFactor }: Model): object => ({
  name,
  price: price === null ? null : Object.fromEntries(Object.entries(price).map(([line, cny]) => [line, decimal(cny)])),
  max_output: maxOutput,
  default_output: defaultOutput,
  input_factor: decimal(inputFactor),
})

export function readChannel(sent: object): Channel {
  const { base_url: baseUrl, auth, pass_headers: passHeaders, ...row } = read(channelRow, sent)
  return { ...row, baseUrl, authHeader: auth?.header ?? null, passHeaders }
}

/** Without the key. */
export const showChannel = (channel: Channel, state: string): object => ({
  name: channel.name,
  base_url: channel.baseUrl,
  protocols: channel.protocols,
  auth: channel.authHeader === null ? null : { header: channel.authHeader },
  headers: channel.headers,
  pass_headers: channel.passHeaders,
  groups: channel.groups,
  models: channel.models,
  weight: channel.weight,
  priority: channel.priority,
  status: channel.status,
  state,
})
