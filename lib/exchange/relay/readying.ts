/**
 * What must be done before an attempt can be sent, each of which may take a moment: its request is written for an upstream of
 * another protocol, a large body is looked through, and what it may cost above what is held is held. An attempt for which that cannot be done is passed over.
 */
import { ZERO } from '../../base/money.ts'
import type { Hold } from '../../ledger/ledger.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { Exchange } from '../record/exchange.ts'
import { fail, guard } from '../record/ending.ts'
import { prepareLane, prepareBody } from '../record/translated-request.ts'
import { countMoneyWait, moneyLeftMs, moreFor } from '../record/need.ts'
import type { Services } from '../record/services.ts'
import { NoMoney, Unfit } from './given-up.ts'

/** `send` is called at once where nothing is to be waited for, and never for an attempt that was closed meanwhile. */
export function whenReady(x: Exchange, services: Services, attempt: Attempt, send: () => void): void {
  const written = prepareLane(x, services, attempt.claim.candidate)
  if (written === null) whenRead(x, services, attempt, send)
  else
    written.then(
      fits =>
        guard(x, services, () => {
          if (!fits) pass(attempt, new Unfit())
          else if (!attempt.over) whenRead(x, services, attempt, send)
        }),
      error => fail(x, services, error),
    )
}

function whenRead(x: Exchange, services: Services, attempt: Attempt, send: () => void): void {
  const read = prepareBody(x, services, attempt.claim.candidate, () => attempt.over)
  if (read === null) whenHeld(x, services, attempt, send)
  else
    read.then(
      () =>
        guard(x, services, () => {
          if (!attempt.over) whenHeld(x, services, attempt, send)
        }),
      error => fail(x, services, error),
    )
}

function whenHeld(x: Exchange, services: Services, attempt: Attempt, send: () => void): void {
  const { ledger } = services
  const more = moreFor(x, services, attempt.claim.candidate)
  if (more === ZERO || ledger.grow(x.hold as Hold, more)) {
    send()
    return
  }
  const poor = () => pass(attempt, new NoMoney())
  countMoneyWait(x, services, ledger.growLater(x.hold as Hold, more, moneyLeftMs(x))).then(
    grown =>
      guard(x, services, () => {
        if (!grown) poor()
        else if (!attempt.over) send()
      }),
    () => guard(x, services, poor),
  )
}

const pass = (attempt: Attempt, why: NoMoney | Unfit): void => attempt.onResponseError(null, why)
