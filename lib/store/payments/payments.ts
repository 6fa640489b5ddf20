/** The statements of payments as methods: orders and their proofs, money that enters and leaves, what is noted beside; and the chain. */
import { bound, type Driver } from '../base/driver.ts'
import * as chain from './chain.ts'
import * as transfers from './transfers.ts'
import * as orders from './orders.ts'
import * as money from './money.ts'
import * as notes from './notes.ts'

export function payStatements(driver: Driver) {
  const of = bound(driver)
  return {
    makeOrder: of(orders.makeOrder),
    order: of(orders.order),
    orderByProviderId: of(orders.orderByProviderId),
    orders: of(orders.orders),
    orderCounts: of(orders.orderCounts),
    orderShown: of(orders.orderShown),
    endOrder: of(orders.endOrder),
    proveOrder: of(orders.proveOrder),
    keepProof: of(orders.keepProof),
    proofs: of(orders.proofsOf),
    proof: of(orders.proofOf),
    proofsPaid: of(orders.proofsPaid),
    releaseOrder: of(orders.releaseOrder),
    heldOrders: of(orders.heldOrders),
    disputedOrders: of(orders.disputedOrders),
    uncredited: of(orders.uncredited),
    takeDueOrders: of(orders.takeDueOrders),
    orderChecked: of(orders.orderChecked),
    payTotals: of(orders.payTotals),
    creditOrder: of(money.creditOrder),
    freeze: of(money.freeze),
    endFreeze: of(money.endFreeze),
    endByHand: of(money.endByHand),
    refund: of(money.refund),
    refundByProviderId: of(money.refundByProviderId),
    refunds: of(money.refunds),
    refundsToSend: of(money.refundsToSend),
    refundSent: of(money.refundSent),
    takeDueRefunds: of(money.takeDueRefunds),
    refundable: of(money.refundable),
    raiseException: of(notes.raiseException),
    exception: of(notes.exception),
    exceptions: of(notes.exceptions),
    openExceptions: of(notes.openExceptions),
    resolveException: of(notes.resolveException),
    seenEvent: of(notes.seenEvent),
    rememberEvent: of(notes.rememberEvent),
    forgetEvents: of(notes.forgetEvents),
    takePayMark: of(notes.takePayMark),
    payMarks: of(notes.payMarks),
    setPayMark: of(notes.setPayMark),
    countPayMark: of(notes.countPayMark),
    payRate: of(notes.payRate),
    payRates: of(notes.payRates),
    setPayRate: of(notes.setPayRate),
  }
}

export type PayStatements = ReturnType<typeof payStatements>

export function chainStatements(driver: Driver) {
  const of = bound(driver)
  return {
    chainAddress: of(chain.chainAddress),
    issueAddress: of(chain.issueAddress),
    addresses: of(chain.addresses),
    addressCount: of(chain.addressCount),
    addressesWatched: of(chain.addressesWatched),
    chainCursor: of(chain.chainCursor),
    takeChain: of(chain.takeChain),
    beginChain: of(chain.beginChain),
    advanceChain: of(chain.advanceChain),
    addTransfers: of(chain.addTransfers),
    secondRead: of(chain.secondRead),
    rewindChain: of(chain.rewindChain),
    recordSweeps: of(chain.recordSweeps),
    addressSums: of(chain.addressSums),
    setSeen: of(chain.setSeen),
    seen: of(chain.seen),
    makeQuote: of(transfers.makeQuote),
    quote: of(transfers.newestQuote),
    transferOrder: of(transfers.transferOrder),
    transferOrders: of(transfers.transferOrders),
    transferOrdersIn: of(transfers.transferOrdersIn),
    unconfirmed: of(transfers.unconfirmed),
    transferChecked: of(transfers.transferChecked),
    waitingAccounts: of(transfers.waitingAccounts),
    countsElsewhere: of(transfers.countsElsewhere),
    fixRates: of(transfers.fixRates),
    markDue: of(transfers.markDue),
  }
}

export type ChainStatements = ReturnType<typeof chainStatements>
