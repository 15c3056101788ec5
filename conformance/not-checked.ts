/** Thrown if a rule cannot be checked, because something that the check needs is missing. */
export class NotChecked extends Error {}
