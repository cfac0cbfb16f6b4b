/** Days where the learner is: a card is due on a day, not at an hour. */

/** The local day of a moment, YYYY-MM-DD. */
export function dayOf(moment: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${moment.getFullYear()}-${two(moment.getMonth() + 1)}-${two(moment.getDate())}`;
}

/** The day `days` after `day`; days with a clock change have 23 or 25 hours, so it is counted in UTC. */
export function addDays(day: string, days: number): string {
  const at = new Date(`${day}T00:00:00Z`);
  at.setUTCDate(at.getUTCDate() + days);
  return at.toISOString().slice(0, 10);
}
