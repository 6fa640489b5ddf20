/**
 * An API as a table of operations: finds the row that a request means, makes the checks in a fixed order, runs the
 * operation and answers. `Api` is for people, `TokenApi` for whoever has one token; `visit.ts` has the order.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  CallRates,
  CHANGES_OF_ONE,
  EXPORTS,
  REPORTS,
  type SeatBounds,
  Seats,
  Shares,
  STREAMS,
  TURNS,
  UNREAD_BYTES,
} from './bounds.ts'
import type { Operation } from './operation.ts'
import { PersonVisit, type PersonVisitParts } from './person-visit.ts'
import { type TokenFault, TokenGuard, type TokenGuardParts } from './token-guard.ts'

export type { TokenFault }
import { TokenVisit, type TokenVisitParts } from './token-visit.ts'
import { routesOf } from './visit.ts'

interface Table<D> {
  /** The path below which everything stands, without a slash at its end; calls stand below `/api` of it. */
  root: string
  operations: readonly Operation<D>[]
}

type ApiParts<D> = Table<D> &
  Pick<PersonVisitParts<D>, 'deps' | 'identities' | 'clock' | 'log' | 'ids' | 'site' | 'ipOf' | 'count'>

export class Api<D> {
  readonly #shared: PersonVisitParts<D>

  constructor({ root, operations, ...parts }: ApiParts<D>) {
    const { clock } = parts
    const seats = (bounds: SeatBounds) => new Seats(clock, bounds)
    this.#shared = {
      ...parts,
      routes: routesOf(root, operations),
      rates: new CallRates(clock),
      reports: seats(REPORTS),
      changes: seats(CHANGES_OF_ONE),
      exports: seats(EXPORTS),
      turns: seats(TURNS),
      streams: new Shares(STREAMS),
      unread: new Shares(UNREAD_BYTES),
    }
  }

  /** Answers the request, whatever happens. */
  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    await new PersonVisit(this.#shared, req, res).serve()
  }
}

type TokenApiParts<D> = Table<D> & Omit<TokenVisitParts<D>, 'routes' | 'guard'> & Pick<TokenGuardParts, 'count'>

export class TokenApi<D> {
  readonly #shared: TokenVisitParts<D>

  constructor({ operations, ...parts }: TokenApiParts<D>) {
    this.#shared = { ...parts, routes: routesOf(parts.root, operations), guard: new TokenGuard(parts) }
  }

  /** Answers the request, whatever happens. */
  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    await new TokenVisit(this.#shared, req, res).serve()
  }
}
