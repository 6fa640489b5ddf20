/**
 * An API as a table of operations: finds the row that a request means, makes the checks in a fixed order, runs the
 * operation and answers. `visit.ts` has the order.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { CallRates } from './call-rates.ts'
import type { Operation } from './operation.ts'
import { type ApiParts, methodOf, pathOf, type Shared } from './parts.ts'
import { Routes } from './routes.ts'
import { EXPORTS, REPORTS, type SeatBounds, Seats, TURNS } from './seats.ts'
import { Visit } from './visit.ts'

export class Api<D> {
  readonly #shared: Shared<D>

  constructor(parts: ApiParts<D>) {
    const { operations, clock, root } = parts
    const routes = new Routes<Operation<D>>()
    for (const row of operations) routes.add(`${methodOf(row)} ${root}${pathOf(row)}`, row)
    const rates = new CallRates(clock)
    const seats = (bounds: SeatBounds) => new Seats(clock, bounds)
    this.#shared = { ...parts, routes, rates, reports: seats(REPORTS), exports: seats(EXPORTS), turns: seats(TURNS) }
  }

  /** Answers the request, whatever happens. */
  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const visit = new Visit(this.#shared, req, res)
    await visit.serve()
  }
}
