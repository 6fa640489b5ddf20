/** The colours of style/tokens.css by which the parts of a chart differ. */

const SERIES = 9

/** The number of the colour of a series; the last one is for all that is left. */
export const seriesOf = (at: number): number => Math.min(at, SERIES - 1) + 1
