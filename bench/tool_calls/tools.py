"""Ordinary tools of seven agents, as people write them. None does anything: only their signatures are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from realtime.event.config import ToolDeclaration
from realtime.tool import Toolkit


def book_table(people: int, day: str) -> None:
    """Book a table."""


def cancel_booking(name: str) -> None:
    """Cancel a booking.

    Args:
        name: The name of the guest.
    """


def opening_hours(day: str) -> None:
    """Tell when the restaurant is open."""


def transfer_money(amount: float, recipient: str) -> None:
    """Transfer money to somebody."""


def account_balance(account: Literal["checking", "savings"] = "checking") -> None:
    """Tell how much money is in an account."""


def send_message(to: str, text: str) -> None:
    """Send a text message to a contact."""


def set_reminder(text: str, when: str | None = None) -> None:
    """Set a reminder.

    Args:
        text: What to remind of.
        when: The time or the day.
    """


def create_event(title: str, date: str, start_time: str) -> None:
    """Add an event to the calendar."""


def get_weather(city: str, day: str = "today") -> None:
    """Get the weather forecast of a city."""


def find_flights(origin: str, destination: str, date: str) -> None:
    """Search for flights between two cities."""


def order_pizza(size: Literal["small", "medium", "large"], toppings: list[str], count: int = 1) -> None:
    """Order a pizza."""


def track_order(order_number: str) -> None:
    """Look up where an order is."""


def add_to_cart(item: str, quantity: int = 1) -> None:
    """Put a product into the shopping cart."""


def set_temperature(degrees: float, room: str | None = None) -> None:
    """Set the temperature of the heating."""


def play_music(query: str) -> None:
    """Play a song, an album or an artist.

    Args:
        query: What to play.
    """


@dataclass
class Stay:
    """When who stays."""

    guests: int
    nights: int
    arrival: str


def book_room(stay: Stay, breakfast: bool = False) -> None:
    """Reserve a hotel room."""


def declared(*functions: object) -> tuple[ToolDeclaration, ...]:
    """Return the tools as a model sees them."""
    return Toolkit(functions).declarations()  # type: ignore[arg-type]


AGENTS: dict[str, tuple[ToolDeclaration, ...]] = {
    "restaurant": declared(book_table, cancel_booking, opening_hours),
    "bank": declared(transfer_money, account_balance),
    "assistant": declared(send_message, set_reminder, create_event),
    "travel": declared(get_weather, find_flights),
    "shop": declared(order_pizza, track_order, add_to_cart),
    "home": declared(set_temperature, play_music),
    "hotel": declared(book_room),
}
EVERY_TOOL = tuple(tool for tools in AGENTS.values() for tool in tools)
